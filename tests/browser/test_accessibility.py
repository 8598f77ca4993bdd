"""axe-core, the accessibility checker of Deque, finds nothing serious on any plate in either theme."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from plates.registry import PLATES


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_axe_finds_nothing_serious(watched, slug, theme):
    page = watched.open(f"?plate={slug}&theme={theme}")
    page.wait_for_timeout(800)
    found = [
        f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in Axe().run(page).response["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert not found, "\n".join(found)
