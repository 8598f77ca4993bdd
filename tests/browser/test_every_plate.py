"""What holds on every plate in both languages: a plate is opened once, and all that only looks is looked at there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from plates import text
from plates.registry import PLATES
from tests.browser.conftest import DESKTOP, Watched, opened_context, wait_query
from tests.browser.probes import CUT, FOCUS, INSIDE, LONELY, TEXTS, WIDER, figures, sound
from tests.plates.english import stray

SLUGS = [plate.slug for plate in PLATES]
CJK = re.compile(r"[\u3400-\u9fff]")
CHARTS = {
    "wall": 2, "traffic": 1, "roofline": 1, "tiles": 2, "memory": 4, "sparsity": 1, "serving": 2, "machine": 7,
}  # fmt: skip
# English first: what is looked at in English only shares its page with what is looked at in both.
_PAGES = [(slug, lang) for lang in ("en", "zh") for slug in SLUGS]
in_both = pytest.mark.parametrize("kept", _PAGES, ids="-".join, indirect=True, scope="module")
in_english = pytest.mark.parametrize(
    "kept", _PAGES[: len(SLUGS)], ids="-".join, indirect=True, scope="module"
)


@dataclass
class Opened:
    """A plate in a language, and the page that shows it."""

    slug: str
    lang: str
    watched: Watched

    @property
    def page(self) -> Page:
        return self.watched.page

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size and let the page find its place in it."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.wait_for_timeout(350)


@pytest.fixture(scope="module")
def kept(request, server, chromium) -> Iterator[Opened]:
    """A plate opened on a desktop, all parts of it there; the tests that follow share it."""
    slug, lang = request.param
    with opened_context(chromium) as context:
        yield first_look(Opened(slug, lang, Watched(context.new_page(), server)))


def first_look(found: Opened) -> Opened:
    """Open the plate and wait until all of it stands still."""
    page = found.page
    page.add_init_script(
        "document.addEventListener('DOMContentLoaded', () => window.first = document.documentElement.lang)"
    )
    # in Chinese with a value that is none, so that the note about it is there to be read
    found.watched.open(f"?plate={found.slug}&lang={found.lang}{'&N=abc' if found.lang == 'zh' else ''}")
    page.wait_for_function("() => Bokeh.documents.length && Bokeh.documents.every((d) => d.is_idle)")
    page.wait_for_timeout(700)
    return found


@pytest.fixture
def opened(kept) -> Iterator[Opened]:
    """The plate on a desktop; its console stays silent, and it asks nobody else."""
    if kept.page.viewport_size != DESKTOP:
        kept.resize(**DESKTOP)
    yield kept
    kept.watched.silent()


@in_both
def test_it_says_what_it_is_and_has_no_empty_readout(opened):
    page, slug = opened.page, opened.slug
    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute(
        "href", re.compile(rf"^\?plate={slug}(&|$)")
    )
    readouts = page.locator("[data-readout]").evaluate_all(
        "all => all.map((n) => [n.dataset.readout, n.innerText, n.dataset.value ?? ''])"
    )
    assert readouts
    for name, said, raw in readouts:
        assert said.strip() and raw, f"{slug}: an empty readout {name}"
        assert not re.search(r"nan|inf\b|None", f"{said} {raw}", re.I), f"{slug}: {said} {raw}"
    wait_query(page, plate=slug, N="8192", gpu="h100-sxm")


@in_both
def test_it_is_in_its_language_before_anything_is_drawn(opened):
    page = opened.page
    code = {"en": "en", "zh": "zh-Hans"}[opened.lang]
    assert page.evaluate("[window.first, document.documentElement.lang]") == [code, code]
    title = page.locator("h1").first
    (expect(title).to_have_text if opened.lang == "zh" else expect(title).not_to_have_text)(CJK)
    plate = next(plate for plate in PLATES if plate.slug == opened.slug)
    said = text.sections(opened.slug, opened.lang).get("scope", plate.scope)
    expect(page.locator(".scope").first).to_have_text(said)


@in_both
def test_english_is_seen_and_heard_on_english_pages_only(opened):
    expect(opened.page.locator(".pager")).to_have_count(1)
    opened.page.wait_for_timeout(1000)  # parts that are drawn or asked for after the first readout
    texts = opened.page.evaluate(TEXTS)
    found = {one: stray(one) for one in texts if stray(one)}
    if opened.lang == "zh":
        assert sum(bool(CJK.search(one)) for one in texts) > 60
        assert any("N=abc 不是数" in one for one in texts)
        assert not found, found
    else:
        assert len(found) > 20, "the search finds English where it is"


@in_english
def test_everything_is_reached_by_tab_with_a_visible_focus(opened):
    page = opened.page
    seen, bare = [], []
    for _ in range(150):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if found is None:
            break
        seen.append(found[1] or found[0])
        if not found[2]:
            bare.append(found)
    assert len(seen) >= len(SLUGS) + 4, f"only {seen}"
    assert not bare, f"{opened.slug}: focus cannot be seen on {bare}"


def serious(page) -> list[str]:
    """Return what axe-core, the accessibility checker of Deque, finds serious or worse."""
    return [
        f"{v['id']}: {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in Axe().run(page).response["violations"]
        if v["impact"] in ("serious", "critical")
    ]


def sideways(opened) -> list[str]:
    """Return at which width and by how much the page scrolls sideways, if it does."""
    width, px = opened.page.locator(".main-content").evaluate(
        "m => [innerWidth, Math.max(document.documentElement.scrollWidth - innerWidth, m.scrollWidth - m.clientWidth)]"
    )
    return [f"at {width} px by {px} px"] if px > 0 else []


@in_english
def test_axe_finds_nothing_serious(opened):
    assert not serious(opened.page)


@in_both
def test_it_fits_at_every_width(opened):
    """Nothing scrolls sideways, no name leaves its frame, no readout stands alone, the bar shows the plate on show."""
    page, slug = opened.page, opened.slug
    for width in (1400, 1280, 1000, 768, 390):
        opened.resize(width, 720)
        assert not sideways(opened)
        if width in (1400, 390):
            sound(figures(page, CHARTS.get(slug, 0)), f"{slug} at {width} px")
            wide = page.evaluate(WIDER)  # tables and formulas that scroll
            assert not wide or (width == 390 and all(cue for *_, cue in wide)), wide
        if opened.lang == "en":
            item = page.locator("nav a[aria-current=page]").element_handle()
            page.wait_for_function(INSIDE, arg=item)
            assert not page.evaluate(LONELY), f"at {width} px"
    assert not page.evaluate(CUT), "on a phone"


@in_english
def test_before_an_audience_nothing_is_cut_off(opened):
    page = opened.page
    page.get_by_role("button", name="Present").click()
    cut = []
    for width, height in ((1280, 720), (1920, 1080)):  # usual projectors
        opened.resize(width, height)
        cut += [f"at {width} px: {what}" for what in page.evaluate(CUT)] + sideways(opened)
    page.get_by_role("button", name="Present").click()
    assert not cut


@in_both
def test_all_models_at_once_keep_their_names_apart(opened):
    lines = {
        "traffic": "models=tiled,algorithm_1,compulsory,waves",
        "roofline": "time_models=tiled,algorithm_1",
    }.get(opened.slug)
    if lines is None:
        assert "models" not in opened.page.url, "another plate has a choice of models: name it here"
        return
    opened.watched.follow(f"?{lines}")
    for width in (1400, 390):
        opened.resize(width)
        sound(figures(opened.page, CHARTS[opened.slug]), f"{opened.slug} at {width} px")


@in_english
def test_in_the_dark_it_is_as_easy_to_read(opened):
    opened.watched.follow("?theme=dark")
    expect(opened.page.locator("html")).to_have_attribute("data-atlas", "dark")
    for _ in range(10):  # Material UI's labels fade from colour to colour, once the server has said so
        opened.page.wait_for_timeout(500)
        if not (found := serious(opened.page)):
            break
    assert not found, found
