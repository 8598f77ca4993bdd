"""The backward pass by recomputation, against torch's autograd and the stored-P computation, in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop import backward, training_traffic
from workshop.problem import Problem, Tile
from workshop.reference import attention


def autograd(q, k, v, do, causal):
    """Gradients by torch, which knows nothing of our formulas; float64."""
    q, k, v = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (q, k, v))
    s = q @ k.T / q.shape[1] ** 0.5
    if causal:
        rows, columns = s.shape
        s = s.masked_fill(~torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows), -torch.inf)
    (torch.softmax(s, -1) @ v).backward(torch.tensor(do))
    return [a.grad.numpy() for a in (q, k, v)]


def recomputed(q, k, v, do, Br, Bc, causal):
    """Gradients by the loop over tiles."""
    kept = attention(q, k, v, causal=causal)
    found = backward.tiles(q, k, v, do, kept.output, kept.logsumexp, Br, Bc, causal=causal)
    return backward.summed(found, *map(len, (q, k)), q.shape[1])


def inputs(Nq, Nk, d, seed=1, size=1.0):
    draw = np.random.default_rng(seed).standard_normal
    return draw((Nq, d)) * size, draw((Nk, d)) * size, draw((Nk, d)), draw((Nq, d))


@settings(max_examples=40, deadline=None)
@given(
    N=st.integers(1, 41),
    d=st.integers(1, 19),
    Br=st.integers(1, 45),
    Bc=st.integers(1, 45),
    causal=st.booleans(),
)
def test_recomputed_gradients_are_autograds(N, d, Br, Bc, causal):
    q, k, v, do = inputs(N, N, d, seed=N * 100 + d)
    got = recomputed(q, k, v, do, Br, Bc, causal=causal)
    for mine, theirs in zip(got, autograd(q, k, v, do, causal), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("causal", [False, True])
def test_stored_gradients_are_autograds_also_for_large_logits(causal):
    q, k, v, do = inputs(23, 23, 7, size=30.0)
    whole = backward.full(q, k, v, do, causal=causal)
    for mine, theirs in zip((whole.dq, whole.dk, whole.dv), autograd(q, k, v, do, causal), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
    for mine, theirs in zip(
        recomputed(q, k, v, do, 5, 4, causal=causal), (whole.dq, whole.dk, whole.dv), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("Nq, Nk", [(5, 13), (13, 5)])
def test_lengths_that_differ_and_rows_that_see_no_key(Nq, Nk):
    q, k, v, do = inputs(Nq, Nk, 6)
    got = recomputed(q, k, v, do, 4, 3, causal=True)
    blind = max(0, Nq - Nk)
    assert all(np.isfinite(part).all() for part in got)
    assert not got[0][:blind].any()  # rows that see no key get no gradient
    wanted = autograd(q[blind:], k, v, do[blind:], True)
    for mine, theirs in zip((got[0][blind:], *got[1:]), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_each_tile_is_its_part_of_the_full_gradient_to_1e_10():
    q, k, v, do = inputs(130, 130, 32)
    kept, whole = attention(q, k, v), backward.full(q, k, v, do)
    found = list(backward.tiles(q, k, v, do, kept.output, kept.logsumexp, 48, 32))
    assert [(t.j, t.i) for t in found] == [(j, i) for j in range(5) for i in range(3)]  # keys outside
    for tile in found:
        for check in backward.check_tile(tile, q, k, v, do, whole):
            assert check.error < 1e-10, check


def test_the_check_catches_a_wrong_tile():
    q, k, v, do = inputs(32, 32, 8)
    kept, whole = attention(q, k, v), backward.full(q, k, v, do)
    off = kept.logsumexp + 1e-6  # a logsumexp that is a millionth off
    tile = next(backward.tiles(q, k, v, do, kept.output, off, 16, 16))
    assert max(check.error for check in backward.check_tile(tile, q, k, v, do, whole)) > 1e-9


def test_d_from_the_output_equals_d_from_the_row():
    q, k, v, do = inputs(20, 20, 5)
    np.testing.assert_allclose(
        backward.row_sums(attention(q, k, v).output, do), backward.full(q, k, v, do).D, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize(
    "Br, Bc, d, causal", [(1, 1, 8, True), (128, 64, 128, False), (1024, 1024, 256, True)]
)
def test_the_report_holds_to_1e_10_at_the_ends(Br, Bc, d, causal):
    report = backward.report(min(96, 3 * max(Br, Bc)), d, Br, Bc, causal=causal)
    assert 0 < report.error < 1e-10
    assert [check.quantity for check in report.tile] == ["P", "dP", "dS", "dV", "dQ", "dK"]


@settings(max_examples=25, deadline=None)
@given(N=st.integers(1, 20), Br=st.integers(1, 9), Bc=st.integers(1, 9), causal=st.booleans())
def test_the_play_ends_at_the_ledger_and_walks_keys_outside(N, Br, Bc, causal):
    record = backward.record(N, 8, Br, Bc, causal=causal)
    last = record["steps"][-1]
    ledger = training_traffic.backward("tiled", Problem(N=N, d=8, causal=causal), Tile(Br=Br, Bc=Bc))
    assert (last["read"], last["written"]) == (ledger.reads, ledger.writes)
    order = [(tile["j"], tile["i"]) for tile in record["tiles"]]
    assert order == sorted(order)
    per_tile = [s["product"] for s in record["steps"] if s["tile"] == 0 and s["product"]]
    assert per_tile == [1, 2, 3, 4, 5]


def test_wrong_shapes_say_what_was_expected_and_got():
    q, k, v, do = inputs(4, 4, 3)
    with pytest.raises(ValueError, match=r"do: expected shape \(4, 3\).*got \(2, 3\)"):
        backward.full(q, k, v, do[:2])
    with pytest.raises(ValueError, match="expected 1 or more; got 0, 2"):
        list(backward.tiles(q, k, v, do, q, np.zeros(4), 0, 2))
    with pytest.raises(ValueError, match="expected shape"):
        backward.row_sums(q, do[:1])
