"""The machine plate, the compiler's section and the recorded points in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from workshop import recordings
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_table import lookup

SHIPPED = recordings.load("h200")


_CANVASES = """(least) => {
  const all = (root, out = []) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.tagName === "CANVAS" && e.width > 0 && e.height > 0) out.push(e)
      if (e.shadowRoot) all(e.shadowRoot, out)
    }
    return out
  }
  return all(document).length >= least
}"""
FIGURES = 7  # law, passes, rates, seconds, two maps of the sweep, errors


def test_counted_bytes_follow_the_readers_settings(watched):
    page = watched.open("?plate=machine&N=4096&H=32&d=128&Br=64&Bc=64")
    same = {"provider": "teaching", "heads": 32, "N": 4096, "d": 128, "Br": 64, "Bc": 64, "causal": False}
    for name, metric in (("l1", "l1-load"), ("l2", "l2"), ("dram", "dram-read")):
        row = SHIPPED.where(metric=metric, **same).rows[0]
        watched.wait_value(f"bytes-{name}-counted", row.p50)
    page.wait_for_function(_CANVASES, arg=FIGURES)  # all come, though not at once
    page.get_by_role("link", name="A head too long for the cache").click()
    row = SHIPPED.where(
        metric="dram-read", provider="teaching", heads=1, N=131072, d=128, Br=128, Bc=64, causal=False
    ).rows[0]
    watched.wait_value("bytes-dram-counted", row.p50)
    expect(page.get_by_text("are read once for each wave of").first).to_be_visible()


def test_the_pass_is_in_the_link(watched):
    page = watched.open("?plate=machine&N=4096")
    page.get_by_role("button", name="forward and backward").click()
    page.wait_for_url(re.compile("direction=both"))
    row = SHIPPED.one(
        metric="time", provider="fast", direction="forward+backward", d=128, N=4096, causal=False, dtype="bf16",
        heads=32, kv_heads=32,
    )  # fmt: skip
    watched.wait_value("tflops-fast", 3.5 * 4 * 32 * 4096**2 * 128 / row.p50, rel=1e-6)


def test_nothing_is_live_until_run_and_then_the_cpu_answers(watched):
    page = watched.open("?plate=machine&N=512&d=64&H=2")
    assert page.locator(".kind-live").count() == 0
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_enabled()
    run.click()
    page.wait_for_selector('[data-readout="live-time-standard"]', timeout=120_000)
    assert float(watched.value("live-time-sdpa-flash")) > 0
    # S and P of both heads, in fp32, live together; the fused kernel keeps neither
    assert float(watched.value("live-memory-standard")) >= 2 * 2 * 512 * 512 * 4
    assert float(watched.value("live-memory-sdpa-flash")) < float(watched.value("live-memory-standard"))
    expect(page.locator(".live .kind-live")).to_have_count(1)
    expect(page.get_by_text("on the CPU of this server").first).to_be_visible()


def test_a_run_can_be_cancelled(watched):
    page = watched.open("?plate=machine&N=2048&d=256&H=4")
    run, cancel = (page.get_by_role("button", name=name, exact=True) for name in ("Run", "Cancel"))
    expect(cancel).to_be_disabled()
    expect(run).to_be_enabled()
    run.click()
    expect(cancel).to_be_enabled()
    cancel.click()
    expect(page.locator(".state-cancelled")).to_be_visible()
    expect(run).to_be_enabled()


def test_the_compilers_section_answers(watched):
    """An H100 block has 232,448 B; 64 x 256 at d=128 with two stages needs 278,528 B."""
    watched.open("?plate=tiles&Br=64&Bc=256&d=128")
    watched.page.wait_for_selector('[data-readout="compile-shared"]')
    watched.wait_value("compile-shared", 278528)
    watched.wait_value("compile-limit", 232448)
    assert watched.value("compile-launches") == "no"
    expect(watched.page.get_by_text("it would not launch").first).to_be_visible()
    expect(watched.page.locator(".kind-compiled")).to_have_count(1)


def test_the_compiler_follows_a_slider_and_the_gpu(watched):
    page = watched.open("?plate=tiles&Br=64&Bc=64&d=128")
    page.wait_for_selector('[data-readout="compile-shared"]')
    known = lookup(Options(Br=64, Bc=64, d=128))
    before = watched.value("compile-shared")
    if known is not None:
        assert float(before) == known.shared_bytes
    slider = page.get_by_role("slider", name="Bc, rows of K, V").first
    slider.focus()
    page.keyboard.press("ArrowRight")  # 96: no power of two, compiled as 128
    expect(page.get_by_text("64 x 96 is compiled as 64 x 128").first).to_be_visible()
    assert float(watched.value("compile-shared")) > float(before)


def test_a_gpu_without_a_compiler_here_says_so(watched):
    page = watched.open("?plate=tiles&gpu=mi300x")
    expect(page.get_by_text("compiles for NVIDIA GPUs only").first).to_be_visible()
    assert page.locator('[data-readout^="compile-"]').count() == 0


def test_recorded_points_are_switched_on_and_labelled(watched):
    page = watched.open("?plate=roofline&N=4096")
    assert page.locator(".kind-recorded").count() == 0
    page.get_by_label("Show where a real GPU stood").click()
    page.wait_for_url(re.compile("measured=1"))
    expect(page.locator(".kind-recorded").first).to_be_visible()
    expect(page.get_by_text("NVIDIA H200").first).to_be_visible()
    page.get_by_role("link", name="put them under their own roof").click()
    page.wait_for_url(re.compile("gpu=h200-sxm"))
