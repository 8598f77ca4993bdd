#!/usr/bin/env bash
# One command that sets up and runs all tests: a virtual environment, the requirements, a Chromium, lint, tests.
#   bash tests/run.sh            everything but the tests that need a GPU
#   bash tests/run.sh -m gpu     what is after the name goes to pytest
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
venv=${VENV:-.venv}
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
stamp="$venv/.requirements"
if ! cmp -s requirements.txt "$stamp"; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt
  cp requirements.txt "$stamp"
fi

# The browser tests drive a real Chromium: CHROMIUM names one, else the one on PATH, else Debian's is installed.
if [ -z "${CHROMIUM:-}" ]; then
  if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    else
      echo "The browser tests need Chromium: install it, or set CHROMIUM to its path." >&2
      exit 1
    fi
  fi
  CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
fi
export CHROMIUM

"$venv/bin/python" -m ruff check .
"$venv/bin/python" -m ruff format --check .
if [ $# -eq 0 ]; then set -- -m "not gpu"; fi
# two processes, each with a server and a browser of its own; a file stays in one of them, and the browser's, the longest, come first
exec "$venv/bin/python" -m pytest -n 2 --dist loadfile --no-loadscope-reorder "$@"
