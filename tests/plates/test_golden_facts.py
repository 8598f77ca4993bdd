"""Numbers inside sentences, against values that were worked out by hand: no other test sees them.

Defaults: N = 8,192, d = 128, M = 228 KiB = 116,736 elements of 2 B, 32 heads, an H100 with 989 TFLOP/s and 3.35 TB/s.
"""

from __future__ import annotations

import re

import panel as pn
import pytest

from tests.plates.walk import open_plate
from workshop import traffic

GOLDEN = {
    ("traffic", ""): {
        "limit": "14.2×",  # 2M / d²
        "break_M": "8,192 elements",  # d² / 2
        "break_M_bytes": "16 KiB",
        "half_d": "64",
        "tiled_Br": "Br = 64",
        "widest": "65.0×",  # 4Nd + 4N² over 4Nd
        "standard": "545 MB",
        "bound": "46.1 MB",
        "wins": "fewer bytes",
        "one_score": "134 MB",  # 2 N²
        "score": "4.29 GB",
        "M_kib": "228 KiB",
    },
    # A mask doubles the limit, halves the head size's square four times; M holds half as many fp32 elements.
    ("traffic", "&dtype=fp32&causal=1&d=64"): {"limit": "57.0×", "break_M_bytes": "8 KiB", "one_score": "268 MB"},
    # 4Nd + 2N²d² / 4,096; Algorithm 1 with Bc = 8 moves 3Nd for each of 1,024 blocks, 12 times standard.
    ("traffic", "&sram=8"): {"bound_ratio": "0.504×", "wins": "more bytes", "widest": "776×"},
    ("roofline", ""): {
        "byte_ratio": "11.8×",
        "ratio": "4.68×",
        "work": "1.10 TFLOP",  # 4 N² d, 32 heads
        "work_standard": "1.10 TFLOP",
        "ridge": "295 FLOP/B",
        "standard_intensity": "63.0 FLOP/B",
        "bound_intensity": "746 FLOP/B",
        "sustained_short": "5.85 ms",  # 5.21 ms over 0.89
        "sustained_long": "6.51 ms",  # over 0.80
    },
    ("roofline", "&causal=1"): {"work": "558 GFLOP", "work_standard": "1.10 TFLOP", "byte_ratio": "18.6×"},
    ("tiles", ""): {
        "passes": "64",  # N / Br
        "visits": "8,192",  # and N / Bc of each
        "needs": "112.5 KiB",
        "excess": "0 B",
        "room": "115.5 KiB",
        "smem_sm": "228 KiB",
        "smem_block": "227 KiB",
        "gap": "1 KiB",
        "A1_passes": "36",  # N over M / 4d = 228
        "A1_back": "35",
        "lowest": "Br = 304",  # 27 blocks, as few as the tallest tile that fits needs
    },
    ("tiles", "&gpu=a100-sxm-40&Br=256"): {"smem_sm": "164 KiB", "smem_block": "163 KiB", "passes": "32"},
    ("wall", ""): {
        "total": "545 MB",
        "square_total": "537 MB",  # 4 of the 2 N²
        "one_score_binary": "128 MiB",
        "layer_total": "17.4 GB",
        "softmax_intensity": "1.25 FLOP/B",  # 5 FLOP on 2 reads and writes of 2 B
        "N_one": "35,355",  # 2 N² of 32 heads fill 80 GB
        "litres_score": "575",
    },
    ("memory", ""): {
        "kept_standard": "4.50 GB",  # P and Q, K, V
        "kept_flash": "269 MB",
        "kept_ratio": "16.7×",
        "peak_standard": "13.4 GB",
        "work_standard": "3.30 TFLOP",  # 2 + 4 products
        "work_flash": "3.85 TFLOP",  # 2 + 5
        "work_ratio": "1.17×",
        "recompute": "0.259 ps",  # 2d at 989 TFLOP/s
        "read": "0.597 ps",  # 2 B at 3.35 TB/s
        "cheaper": "2.31×",
    },
    ("sparsity", ""): {"visited": "2,032", "total": "8,192", "share": "24.8 %", "skipped": "6,160", "row": "256 B"},
    ("serving", ""): {
        "token": "524 kB",  # 2 x 32 layers x 32 heads x 128 x 2 B
        "cache": "4.29 GB",
        "weights": "13.5 GB",
        "intensity": "1.00 FLOP/B",
        "attention": "1.28 ms",  # the cache at 3.35 TB/s
        "step": "5.31 ms",  # and the weights
    },
}  # fmt: skip


def shown(atlas) -> str:
    """Return all text of the plate on show."""
    view = atlas.plates[atlas.settings.plate].view()
    page = " ".join(pane.object for pane in view.select(pn.pane.HTML)).replace("\u00a0", " ")
    return re.sub(r"\s+", " ", page)


@pytest.mark.parametrize(("slug", "query"), GOLDEN, ids=lambda part: str(part) or "default")
def test_facts_are_as_worked_out_by_hand(slug, query):
    atlas = open_plate(slug, query)
    facts = atlas.plates[slug].facts()
    assert {name: facts[name] for name in GOLDEN[slug, query]} == GOLDEN[slug, query]


@pytest.mark.parametrize(
    ("slug", "query", "sentences"),
    [
        (
            "traffic",
            "",
            ("8,192 elements or 16 KiB: any real chip", "twice that under a causal mask: 14.2× here"),
        ),
        ("traffic", "&sram=8", ("<span>more bytes</span>",)),
        ("tiles", "&tile_view=kernel", ("Each of its 256 threads",)),  # 8 warps above 64 rows
        ("tiles", "&tile_view=kernel&Br=64", ("Each of its 128 threads",)),
        ("roofline", "", ("11.8× fewer bytes buy 4.68× less time",)),
    ],
)
def test_facts_stand_in_their_sentences(slug, query, sentences):
    page = shown(open_plate(slug, query))
    for sentence in sentences:
        assert sentence in page, sentence


@pytest.mark.parametrize("query", ["", "&sram=8", "&N=1000&d=80&causal=1", "&models=tiled,waves&Br=16"])
def test_the_rule_between_standard_and_bound_spans_just_the_two(query):
    atlas = open_plate("traffic", query)
    s, plate = atlas.settings, atlas.plates["traffic"]
    ends = sorted(
        traffic.ledger(model, s.problem, s.tile, s.gpu_record).bytes(s.dtype)
        for model in ("standard", "bound")
    )
    rule = plate._gap.data
    assert (list(rule["x"]), rule["y0"][0], rule["y1"][0]) == ([s.N], *ends)
