"""The oracle against PyTorch in float64, hand-worked values and the awkward rows."""

import numpy as np
import pytest
import torch

from workshop.reference import attention, may_look


def _inputs(Nq, Nk, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((Nq, d)), rng.standard_normal((Nk, d)), rng.standard_normal((Nk, d))


def test_two_keys_by_hand():
    # Scores 0 and ln 3: weights 1/4 and 3/4, logsumexp ln 4.
    result = attention(np.array([[1.0]]), np.array([[0.0], [np.log(3)]]), np.array([[0.0], [8.0]]))
    assert result.output[0, 0] == pytest.approx(6.0, rel=1e-15)
    assert result.logsumexp[0] == pytest.approx(np.log(4), rel=1e-15)


@pytest.mark.parametrize(("Nq", "Nk", "d"), [(1, 1, 1), (7, 7, 3), (13, 5, 17), (5, 13, 64), (64, 64, 128)])
def test_equals_torch_float64(Nq, Nk, d):
    q, k, v = _inputs(Nq, Nk, d)
    truth = torch.nn.functional.scaled_dot_product_attention(*(torch.from_numpy(x)[None] for x in (q, k, v)))[
        0
    ]
    result = attention(q, k, v)
    np.testing.assert_allclose(result.output, truth.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        result.logsumexp, torch.logsumexp(torch.from_numpy(result.scores), 1).numpy(), rtol=1e-13
    )


def test_causal_equals_torch():
    q, k, v = _inputs(11, 11, 5)
    truth = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(x)[None] for x in (q, k, v)), is_causal=True
    )[0]
    np.testing.assert_allclose(attention(q, k, v, causal=True).output, truth.numpy(), rtol=1e-12, atol=1e-14)


def test_causal_is_aligned_bottom_right():
    # The two matrices printed in flash-attn's change log for version 2.1.
    assert may_look(2, 5, causal=True).astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert may_look(5, 2, causal=True).astype(int).tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]


def test_rows_without_keys_are_zero():
    q, k, v = _inputs(5, 2, 4)
    result = attention(q, k, v, causal=True)
    assert np.array_equal(result.output[:3], np.zeros((3, 4)))
    assert np.array_equal(result.weights[:3], np.zeros((3, 2)))
    assert np.all(np.isneginf(result.logsumexp[:3])) and np.all(np.isfinite(result.logsumexp[3:]))
    assert np.allclose(result.output[3], v[0])


def test_no_keys_at_all():
    result = attention(np.ones((3, 2)), np.ones((0, 2)), np.ones((0, 2)))
    assert np.array_equal(result.output, np.zeros((3, 2))) and np.all(np.isneginf(result.logsumexp))


def test_extreme_logits_give_the_mean_of_v():
    # reference: every scaled logit -2.45e5; no finite stand-in for -inf survives this.
    v = np.random.default_rng(1).standard_normal((9, 4))
    q, k = np.zeros((9, 4)), np.zeros((9, 4))
    q[:, 0], k[:, 0] = 2.0, -2.45e5
    result = attention(q, k, v)
    assert np.all(result.scores == -2.45e5)
    np.testing.assert_allclose(result.output, np.broadcast_to(v.mean(0), v.shape), rtol=1e-13)


def test_one_key_returns_its_value():
    big = np.full((1, 64), 133120.0)
    assert np.array_equal(attention(big, big, big).output, big)


def test_errors_name_the_shapes():
    with pytest.raises(ValueError, match=r"k: expected d=3 columns like q, got 4"):
        attention(np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"v: expected shape \(2, 3\) like k, got \(3, 3\)"):
        attention(np.ones((2, 3)), np.ones((2, 3)), np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"q: expected 2 dimensions"):
        attention(np.ones(3), np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"mask: expected shape \(2, 2\), got \(2, 3\)"):
        may_look(2, 2, mask=np.ones((2, 3), dtype=bool))
