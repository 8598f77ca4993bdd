"""What a server wrote, read for what must not be there."""

from __future__ import annotations

# A tab that closes while the server is writing to it, or just after it wrote: the libraries log the message that found
# nobody.
_NOBODY = ("WebSocketClosedError", "StreamClosedError", "assert self._session is not None")


def tracebacks(text: str) -> list[str]:
    """Return the tracebacks in a server's log, except those of a message to or from a tab that was just closed."""
    found = []
    for part in text.split("Traceback (most recent call last):")[1:]:
        frames, end = [], ""
        for line in part.splitlines()[1:]:
            if line.startswith(" ") or not line.strip():
                frames.append(line)
                continue
            end = line
            break
        if not any(name in " ".join([*frames[-2:], end]) for name in _NOBODY):
            found.append("\n".join([*frames[-6:], end]))
    return found
