"""FlashAttention's forward pass as the step-through tells it: one program owns a Q block and walks over K,V blocks.

Names are those of `workshop.online_softmax`: m the largest score of a row so far, l the sum of its weights, acc the
output before the division by l, alpha the factor that rescales the past when m grows. Loaded only by a launch.
"""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def absorb(q, k, v, m, l, acc, visible, scale, MASKED: tl.constexpr):
    """One tile: scores of a Q block (Br, d) with a K,V block (Bc, d), folded into m, l (Br,) and acc (Br, d).

    `visible` (Br, Bc) says which scores count, where MASKED. m is kept unscaled.
    """
    S = tl.dot(q, k.T, input_precision="ieee")
    if MASKED:
        S = tl.where(visible, S, -float("inf"))
    m_new = tl.maximum(m, tl.max(S, axis=1))
    # A row that has seen no key yet has m = -inf; shifting by 0 keeps exp(-inf) = 0 where -inf + inf is NaN.
    shift = tl.where(m_new == -float("inf"), 0.0, m_new) if MASKED else m_new
    # exp(x) is 2^(x log2 e), one instruction. The subtraction comes first: it is exact for the largest score, so
    # that even scores of 1e12 give a weight of 1 and not a rounding error raised to a power.
    alpha = tl.exp2((m - shift) * (scale * LOG2E))
    P = tl.exp2((S - shift[:, None]) * (scale * LOG2E))
    l = alpha * l + tl.sum(P, axis=1)
    acc = alpha[:, None] * acc
    acc = tl.dot(P.to(v.dtype), v, acc, input_precision="ieee")
    return m_new, l, acc


@triton.jit
def load_rows(
    base, rows, columns, row_stride, column_stride, N, d, ROWS_END: tl.constexpr, D_END: tl.constexpr
):
    """The tile base[rows, columns], with zeros past row N (where ROWS_END) and past column d (where D_END)."""
    pointers = base + rows.to(tl.int64)[:, None] * row_stride + columns.to(tl.int64)[None, :] * column_stride
    if ROWS_END and D_END:
        tile = tl.load(pointers, mask=(rows[:, None] < N) & (columns[None, :] < d), other=0.0)
    elif ROWS_END:
        tile = tl.load(pointers, mask=rows[:, None] < N, other=0.0)
    elif D_END:
        tile = tl.load(pointers, mask=columns[None, :] < d, other=0.0)
    else:
        tile = tl.load(pointers)
    return tile


@triton.jit
def teaching_forward(
    Q,
    K,
    V,
    O,
    L,
    q_batch,
    q_head,
    q_row,
    q_column,
    k_batch,
    k_head,
    k_row,
    k_column,
    v_batch,
    v_head,
    v_row,
    v_column,
    o_batch,
    o_head,
    o_row,
    o_column,
    H,
    group,
    Nq,
    Nk,
    d,
    scale,
    BR: tl.constexpr,
    BC: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    D_END: tl.constexpr,
):
    """O (B, H, Nq, d) and the logsumexp L (B, H, Nq) of one Q block; `x_batch` and so on are strides in elements.

    Grid: ceil(Nq / BR) * B * H programs. D is d padded to a power of two, D_END whether it was padded.
    """
    # 1. Which Q block of which head. Causal: the longest walks start first, so that the short ones fill the gaps.
    blocks = tl.cdiv(Nq, BR)
    i = tl.program_id(0) % blocks
    if CAUSAL:
        i = blocks - 1 - i
    # Offsets in 64 bits: 16 x 64 heads of 16,384 x 128 are 2^31 elements.
    head = tl.program_id(0).to(tl.int64) // blocks
    b, h = head // H, head % H
    K += b * k_batch + (h // group) * k_head
    V += b * v_batch + (h // group) * v_head

    # 2. Read the Q block once; it stays on the chip, as do m, l and acc.
    rows = i * BR + tl.arange(0, BR)
    keys = tl.arange(0, BC)
    columns = tl.arange(0, D)
    q = load_rows(Q + b * q_batch + h * q_head, rows, columns, q_row, q_column, Nq, d, True, D_END)
    m = tl.full((BR,), -float("inf"), tl.float32)
    l = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)

    # 3. Query r sees keys up to r + shift. `end` keys are seen by some row of the block, `full` (in whole K,V
    #    blocks) by all of them.
    shift = Nk - Nq
    end = Nk
    full = Nk // BC * BC
    if CAUSAL:
        end = tl.maximum(tl.minimum(Nk, (i + 1) * BR + shift), 0)
        full = tl.minimum(full, tl.maximum(i * BR + shift + 1, 0) // BC * BC)

    # 4. Walk over the K,V blocks that every row sees whole: nothing to mask.
    for start in range(0, full, BC):
        k = load_rows(K, start + keys, columns, k_row, k_column, Nk, d, False, D_END)
        v = load_rows(V, start + keys, columns, v_row, v_column, Nk, d, False, D_END)
        m, l, acc = absorb(q, k, v, m, l, acc, True, scale, False)

    # 5. Then over those that the diagonal or the end of the keys cuts.
    for start in range(full, end, BC):
        k = load_rows(K, start + keys, columns, k_row, k_column, Nk, d, True, D_END)
        v = load_rows(V, start + keys, columns, v_row, v_column, Nk, d, True, D_END)
        visible = (start + keys < Nk)[None, :]
        if CAUSAL:
            visible = visible & (start + keys[None, :] <= rows[:, None] + shift)
        m, l, acc = absorb(q, k, v, m, l, acc, visible, scale, True)

    # 6. Divide once, write O and one number a row for the backward pass. A row without keys: O = 0, L = -inf.
    l = tl.where(l == 0.0, 1.0, l)
    o = acc / l[:, None]
    tl.store(L + head * Nq + rows, m * scale + tl.log(l), mask=rows < Nq)
    pointers = rows.to(tl.int64)[:, None] * o_row + columns.to(tl.int64)[None, :] * o_column
    inside = (rows[:, None] < Nq) & (columns[None, :] < d)
    tl.store(O + b * o_batch + h * o_head + pointers, o.to(O.dtype.element_ty), mask=inside)
