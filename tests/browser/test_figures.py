"""Figures in a browser: their own style whoever adds them, names inside the frame, ticks that do not touch."""

from __future__ import annotations

import pytest

from plates.figures import PROJECTOR, SMALL

# Every figure on show: the sizes of its axes' texts, and how far each label reaches beyond the frame, in px, where
# Bokeh itself says it stands; texts of x ticks as [left, right] in px.
LOOK = """() => {
  const out = [], pen = document.createElement("canvas").getContext("2d")
  const size = (p) => p?.value ?? p
  const views = (view) => [view, ...[...view.children()].flatMap(views)]
  const plots = Bokeh.index.roots.flatMap(views).filter((v) => v.model.type === "Figure" && v.bbox.width > 0)
  for (const plot of plots) {
    const { left, right, top, bottom } = plot.frame.bbox
    const labels = views(plot).filter((v) => v.model.type === "Label" && v.model.visible && v.model.text && v._rect)
    const axes = views(plot).filter((v) => v.model.type.endsWith("Axis") && v.model.visible)
    const beyond = labels.map(({ model, _rect: { sx, sy, anchor, width, height } }) => {
      const x = sx - anchor.x * width, y = sy - anchor.y * height
      return [model.text, Math.max(left - x, x + width - right, top - y, y + height - bottom)]
    })
    const ticks = axes.filter((v) => v.dimension === 0).flatMap((v) => {
      const at = v.tick_coords.major[0], texts = v.model.formatter.doFormat(at, {})
      pen.font = `${size(v.model.major_label_text_font_size)} ${size(v.model.major_label_text_font)}`
      const x = [...plot.frame.x_scale.v_compute(at)]
      return texts.map((t, i) => [t, x[i], pen.measureText(t).width / 2]).filter(([t]) => t)
        .map(([, middle, half]) => [middle - half, middle + half])
    })
    const sizes = axes.flatMap((v) => [v.model.axis_label_text_font_size, v.model.major_label_text_font_size].map(size))
    out.push({ beyond, ticks: ticks.sort((a, b) => a[0] - b[0]), sizes, height: plot.bbox.height })
  }
  return out
}"""
CHARTS = {"wall": 2, "traffic": 1, "roofline": 1, "tiles": 2, "memory": 4, "sparsity": 2, "serving": 2}


def figures(page, count: int) -> list[dict]:
    """Return `LOOK` once ``count`` figures are there and at rest."""
    for _ in range(80):
        found = page.evaluate(LOOK)
        if len(found) >= count:
            break
        page.wait_for_timeout(250)
    page.wait_for_timeout(600)
    found = page.evaluate(LOOK)
    assert len(found) >= count
    return found


def sound(found: list[dict], where: str) -> None:
    """No label leaves its frame and no two ticks touch."""
    for figure in found:
        for text, px in figure["beyond"]:
            assert px <= 3, f"{where}: {text!r} reaches {px:.0f} px out of the frame"
        for (_, end), (start, _) in zip(figure["ticks"], figure["ticks"][1:], strict=False):
            assert start - end >= 4, f"{where}: ticks touch"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("slug", CHARTS)
def test_names_stay_inside_the_frame_and_ticks_apart_at_any_width(watched, slug, lang):
    page = watched.page
    page.set_viewport_size({"width": 1400, "height": 1000})
    more = "&models=tiled,algorithm_1,compulsory,waves&time_models=tiled,algorithm_1"
    watched.open(f"?plate={slug}&lang={lang}{more}")
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(500)
        sound(figures(page, CHARTS[slug]), f"{slug} at {width} px")


def test_the_charts_of_the_machine_which_come_late_are_like_all_others(watched):
    page = watched.page
    watched.open("?plate=machine")
    page.get_by_role("button", name="Present").click()
    found = figures(page, 7)
    assert {size for figure in found for size in figure["sizes"]} == {f"{SMALL * PROJECTOR:g}px"}
    page.get_by_role("button", name="Present").click()
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        sound(figures(page, 7), f"machine at {width} px")


def test_a_projector_enlarges_a_plate_that_is_open_and_one_opened_afterwards(watched):
    page = watched.page
    page.set_viewport_size({"width": 1920, "height": 1080})
    watched.open("?plate=traffic")
    (before,) = figures(page, 1)
    assert set(before["sizes"]) == {f"{SMALL}px"}
    page.get_by_role("button", name="Present").click()
    (now,) = figures(page, 1)
    assert set(now["sizes"]) == {f"{SMALL * PROJECTOR:g}px"} and now["height"] > 1.3 * before["height"]
    page.locator("nav a[href='?plate=memory']").first.click()
    later = figures(page, 4)
    assert {size for figure in later for size in figure["sizes"]} == {f"{SMALL * PROJECTOR:g}px"}
    sound(later, "memory while presenting")
