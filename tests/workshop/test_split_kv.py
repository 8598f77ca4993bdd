"""Any split of the cache merges to the full result: float64, torch, empty pieces, masked pieces, any tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop import hardware, reference, split_kv
from workshop.online_softmax import empty, finish


def _inputs(seed, rows, N, d, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((rows, d)), rng.standard_normal((N, d)), rng.standard_normal((N, d))


@st.composite
def problems(draw):
    """q, k, v, a mask (possibly with dead pieces and dead rows), and cuts at any places, repeated ones too."""
    rows, N, d = draw(st.integers(1, 6)), draw(st.integers(1, 80)), draw(st.integers(1, 24))
    q, k, v = _inputs(draw(st.integers(0, 999)), rows, N, d, draw(st.sampled_from([0.1, 1.0, 30.0])))
    cuts = sorted(draw(st.lists(st.integers(0, N), max_size=8)))
    edges = [0, *cuts, N]
    pieces = [range(a, b) for a, b in itertools.pairwise(edges)]
    mask = None
    if draw(st.booleans()):
        mask = np.random.default_rng(draw(st.integers(0, 99))).random((rows, N)) < 0.6
        dead = draw(st.sampled_from(pieces))
        mask[:, dead.start : dead.stop] = False  # a piece in which nobody sees anything
        if draw(st.booleans()):
            mask[0] = False  # a query that sees nothing at all
    return q, k, v, mask, pieces


@settings(max_examples=300, deadline=None)
@given(problems())
def test_any_split_merges_to_the_full_result(problem):
    q, k, v, mask, pieces = problem
    output, logsumexp = split_kv.attention(q, k, v, pieces, mask=mask)
    truth = reference.attention(q, k, v, mask=mask)
    assert np.abs(output - truth.output).max() <= 1e-12
    finite = np.isfinite(truth.logsumexp)
    assert (np.isfinite(logsumexp) == finite).all()
    assert np.allclose(logsumexp[finite], truth.logsumexp[finite], rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_pieces_merge_in_any_order_and_any_tree(problem, random):
    q, k, v, mask, pieces = problem
    parts = [
        split_kv.partial(
            q, k[p.start : p.stop], v[p.start : p.stop], mask=None if mask is None else mask[:, p]
        )
        for p in pieces
    ]
    random.shuffle(parts)
    while len(parts) > 1:
        a, b = parts.pop(random.randrange(len(parts))), parts.pop(random.randrange(len(parts)))
        parts.append(split_kv.merge(a, b))
    truth = reference.attention(q, k, v, mask=mask).output
    assert np.abs(finish(parts[0])[0] - truth).max() <= 1e-12


def test_an_empty_piece_changes_nothing():
    q, k, v = _inputs(0, 3, 20, 8)
    part = split_kv.partial(q, k, v)
    for merged in (split_kv.merge(empty(3, 8), part), split_kv.merge(part, empty(3, 8))):
        assert all((getattr(merged, n) == getattr(part, n)).all() for n in ("m", "l", "o"))
    nothing = split_kv.merge(empty(3, 8), empty(3, 8))
    assert np.isneginf(nothing.m).all() and (finish(nothing)[0] == 0).all()


def test_against_torch_at_a_serving_size():
    import torch

    q, k, v = _inputs(7, 4, 4099, 128)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(x)[None] for x in (q, k, v))
    )
    for parts in (1, 2, 7, 64, 5000):
        output, _ = split_kv.attention(q, k, v, split_kv.splits(4099, parts))
        assert np.abs(output - expected[0].numpy()).max() <= 1e-12


@given(st.integers(0, 5000), st.integers(1, 300))
def test_splits_cover_every_key_once_and_are_even(N, parts):
    found = split_kv.splits(N, parts)
    assert len(found) == parts and [i for piece in found for i in piece] == list(range(N))
    assert max(map(len, found)) == -(-N // parts)


def test_the_rule_by_hand():
    """Scores 1 | 5 with values 10 | 20: under the maximum 5 the first weighs e^(1-5) = 0.0183."""
    one, five = (
        split_kv.partial(np.ones((1, 1)), np.array([[s]]), np.array([[v]]))
        for s, v in ((1.0, 10.0), (5.0, 20.0))
    )
    merged = split_kv.merge(one, five)
    assert merged.m[0] == 5 and merged.l[0] == pytest.approx(1 + np.exp(-4.0), rel=1e-15)
    assert merged.o[0, 0] == pytest.approx(20 + 10 * np.exp(-4.0), rel=1e-15)


def test_one_conversation_leaves_most_of_a_gpu_idle_until_its_cache_is_split():
    sms = hardware.GPUS["h100-sxm"].sms
    alone = split_kv.occupancy(1, 8, 1, sms)
    assert (alone.work, alone.busy, alone.waves) == (8, 8, 1) and alone.share == 8 / 132
    fewest = split_kv.fewest_splits(1, 8, sms)
    assert fewest == 17 and split_kv.occupancy(1, 8, fewest, sms).busy == 132
    assert split_kv.occupancy(1, 8, fewest - 1, sms).busy < 132
    assert split_kv.occupancy(64, 32, 1, sms).waves == 16
    # Four GPUs share the eight heads: two blocks each, and four times as many pieces to fill them all.
    assert split_kv.occupancy(1, 8, 1, sms, gpus=4).work == 2
    assert split_kv.fewest_splits(1, 8, sms, gpus=4) == 66


def test_partial_results_are_small_beside_the_cache():
    assert split_kv.partial_bytes(32, 128, 8) == 2 * 8 * 32 * 130 * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_kv.splits(4, 0), "1 or more parts"),
        (lambda: split_kv.merge_all([]), "at least one"),
        (lambda: split_kv.merge(empty(1, 2), empty(1, 3)), r"expected outputs of shape \(1, 2\)"),
        (lambda: split_kv.attention(*_inputs(0, 1, 4, 2), [range(3)]), "every key from 0 to 3 once"),
        (
            lambda: split_kv.partial(*_inputs(0, 1, 4, 2), mask=np.ones((2, 4), dtype=bool)),
            r"mask: expected shape \(1, 4\)",
        ),
    ],
)
def test_bad_arguments_say_expected_and_got(call, message):
    with pytest.raises(ValueError, match=message):
        call()
