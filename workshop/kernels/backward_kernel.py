"""Gradients of attention without its matrices: P is computed again, tile by tile, from Q, K and the logsumexp.

With delta = rowsum(dO * O) and P = exp(scale Q K^T - logsumexp),

    dV = P^T dO      dP = dO V^T      dS = P * (dP - delta)      dQ = scale dS K      dK = scale dS^T Q.

Two walks, so that every gradient tile is summed by one program in a fixed order: `backward_keys` keeps a K,V block and
walks over Q blocks, `backward_queries` keeps a Q block and walks over K,V blocks. Seven products a tile instead of the
five of a single walk, and no atomic additions. Source: Dao et al. 2022, Algorithm 4; Dao 2023, Algorithm 2.
Loaded only by a launch. With TMA, tensors are descriptors of (B, heads, N, d); else pointers with four strides each.
"""

import triton
import triton.language as tl

from .teaching_kernel import load_rows

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def read(
    X, strides, b, h, start, N, d,
    ROWS: tl.constexpr, D: tl.constexpr, END: tl.constexpr, D_END: tl.constexpr, TMA: tl.constexpr,
):  # fmt: skip
    """Rows start to start + ROWS of one head, (ROWS, D), zeros past the ends (END: row N may be among them)."""
    if TMA:
        tile = X.load([b.to(tl.int32), h.to(tl.int32), start, 0]).reshape(ROWS, D)
    else:
        base = X + b.to(tl.int64) * strides[0] + h.to(tl.int64) * strides[1]
        tile = load_rows(
            base, start + tl.arange(0, ROWS), tl.arange(0, D), strides[2], strides[3], N, d, END, D_END
        )
    return tile


@triton.jit
def write(X, strides, b, h, start, N, d, tile, ROWS: tl.constexpr, D: tl.constexpr):
    """Store a (ROWS, D) tile of one head, clipped to N rows and d columns."""
    rows, columns = start + tl.arange(0, ROWS), tl.arange(0, D)
    base = X + b.to(tl.int64) * strides[0] + h.to(tl.int64) * strides[1]
    pointers = base + rows.to(tl.int64)[:, None] * strides[2] + columns.to(tl.int64)[None, :] * strides[3]
    tl.store(pointers, tile.to(X.dtype.element_ty), mask=(rows[:, None] < N) & (columns[None, :] < d))


@triton.jit
def backward_rows(
    O,
    dO,
    L,
    delta,
    log2_sum,
    o_strides,
    do_strides,
    H,
    Nq,
    d,
    BR: tl.constexpr,
    D: tl.constexpr,
):
    """delta = rowsum(dO * O) and log2_sum = logsumexp * log2 e, both (B, H, Nq) float32.

    Rows that saw no key get +inf, so that their weights come out as 2^-inf = 0. Grid: ceil(Nq / BR) * B * H.
    """
    blocks = tl.cdiv(Nq, BR)
    head = tl.program_id(0).to(tl.int64) // blocks
    start = (tl.program_id(0) % blocks) * BR
    rows = start + tl.arange(0, BR)
    o = read(O, o_strides, head // H, head % H, start, Nq, d, BR, D, True, True, False)
    do = read(dO, do_strides, head // H, head % H, start, Nq, d, BR, D, True, True, False)
    tl.store(delta + head * Nq + rows, tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1), mask=rows < Nq)
    lse = tl.load(L + head * Nq + rows, mask=rows < Nq, other=0.0)
    tl.store(
        log2_sum + head * Nq + rows, tl.where(lse == -float("inf"), float("inf"), lse * LOG2E), mask=rows < Nq
    )


@triton.jit
def add_queries(k, v, q, do, log2_sum, delta, visible, dk, dv, scale, MASKED: tl.constexpr):
    """Adds one Q block's part to dK (unscaled) and dV of a K,V block; everything is transposed, (Bc, Br)."""
    S = tl.dot(k, q.T, input_precision="ieee")
    P = tl.exp2(S * (scale * LOG2E) - log2_sum[None, :])
    if MASKED:
        P = tl.where(visible, P, 0.0)
    dv = tl.dot(P.to(do.dtype), do, dv, input_precision="ieee")
    dP = tl.dot(v, do.T, input_precision="ieee")
    dS = P * (dP - delta[None, :])
    dk = tl.dot(dS.to(q.dtype), q, dk, input_precision="ieee")
    return dk, dv


@triton.jit
def backward_keys(
    Q,
    K,
    V,
    dO,
    dK,
    dV,
    log2_sum,
    delta,
    q_strides,
    k_strides,
    v_strides,
    do_strides,
    dk_strides,
    dv_strides,
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
    TMA: tl.constexpr,
):
    """dK and dV (B, Hkv, Nk, d) of one K,V block, summed over the query heads that share it.

    Grid: ceil(Nk / BC) * B * Hkv. The first K,V blocks are seen by the most queries and start first.
    """
    blocks = tl.cdiv(Nk, BC)
    heads = H // group
    j = tl.program_id(0) % blocks
    b = (tl.program_id(0) // blocks) // heads
    kv = (tl.program_id(0) // blocks) % heads
    k = read(K, k_strides, b, kv, j * BC, Nk, d, BC, D, True, D_END, TMA)
    v = read(V, v_strides, b, kv, j * BC, Nk, d, BC, D, True, D_END, TMA)
    keys = j * BC + tl.arange(0, BC)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)

    # Q blocks from `first` see a key of this block, those from `clear` on see all of them.
    shift = Nk - Nq
    first = 0
    clear = 0
    if CAUSAL:
        first = tl.maximum(j * BC - shift, 0) // BR * BR
        clear = tl.cdiv(tl.maximum((j + 1) * BC - 1 - shift, 0), BR) * BR
        clear = tl.minimum(clear, tl.cdiv(Nq, BR) * BR)
    for g in range(group):
        h = kv * group + g
        row_of = (b.to(tl.int64) * H + h) * Nq
        for start in range(first, clear, BR):
            rows = start + tl.arange(0, BR)
            q = read(Q, q_strides, b, h, start, Nq, d, BR, D, True, D_END, TMA)
            do = read(dO, do_strides, b, h, start, Nq, d, BR, D, True, D_END, TMA)
            sums = tl.load(log2_sum + row_of + rows, mask=rows < Nq, other=float("inf"))
            deltas = tl.load(delta + row_of + rows, mask=rows < Nq, other=0.0)
            visible = keys[:, None] <= rows[None, :] + shift
            dk, dv = add_queries(k, v, q, do, sums, deltas, visible, dk, dv, scale, True)
        for start in range(clear, Nq, BR):
            rows = start + tl.arange(0, BR)
            q = read(Q, q_strides, b, h, start, Nq, d, BR, D, True, D_END, TMA)
            do = read(dO, do_strides, b, h, start, Nq, d, BR, D, True, D_END, TMA)
            sums = tl.load(log2_sum + row_of + rows, mask=rows < Nq, other=float("inf"))
            deltas = tl.load(delta + row_of + rows, mask=rows < Nq, other=0.0)
            dk, dv = add_queries(k, v, q, do, sums, deltas, True, dk, dv, scale, False)
    write(dK, dk_strides, b, kv, j * BC, Nk, d, dk * scale, BC, D)
    write(dV, dv_strides, b, kv, j * BC, Nk, d, dv, BC, D)


@triton.jit
def add_keys(q, do, k, v, log2_sum, delta, visible, dq, scale, MASKED: tl.constexpr):
    """Adds one K,V block's part to dQ (unscaled) of a Q block."""
    S = tl.dot(q, k.T, input_precision="ieee")
    P = tl.exp2(S * (scale * LOG2E) - log2_sum[:, None])
    if MASKED:
        P = tl.where(visible, P, 0.0)
    dP = tl.dot(do, v.T, input_precision="ieee")
    dS = P * (dP - delta[:, None])
    return tl.dot(dS.to(k.dtype), k, dq, input_precision="ieee")


@triton.jit
def backward_queries(
    Q,
    K,
    V,
    dO,
    dQ,
    log2_sum,
    delta,
    q_strides,
    k_strides,
    v_strides,
    do_strides,
    dq_strides,
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
    TMA: tl.constexpr,
):
    """dQ (B, H, Nq, d) of one Q block. Grid: ceil(Nq / BR) * B * H, ordered as in the forward pass."""
    blocks = tl.cdiv(Nq, BR)
    i = tl.program_id(0) % blocks
    if CAUSAL:
        i = blocks - 1 - i
    b = (tl.program_id(0) // blocks) // H
    h = (tl.program_id(0) // blocks) % H
    kv = h // group
    rows = i * BR + tl.arange(0, BR)
    q = read(Q, q_strides, b, h, i * BR, Nq, d, BR, D, True, D_END, TMA)
    do = read(dO, do_strides, b, h, i * BR, Nq, d, BR, D, True, D_END, TMA)
    row_of = (b.to(tl.int64) * H + h) * Nq
    sums = tl.load(log2_sum + row_of + rows, mask=rows < Nq, other=float("inf"))
    deltas = tl.load(delta + row_of + rows, mask=rows < Nq, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)

    shift = Nk - Nq
    end = Nk
    full = Nk // BC * BC
    if CAUSAL:
        end = tl.maximum(tl.minimum(Nk, (i + 1) * BR + shift), 0)
        full = tl.minimum(full, tl.maximum(i * BR + shift + 1, 0) // BC * BC)
    for start in range(0, full, BC):
        k = read(K, k_strides, b, kv, start, Nk, d, BC, D, False, D_END, TMA)
        v = read(V, v_strides, b, kv, start, Nk, d, BC, D, False, D_END, TMA)
        dq = add_keys(q, do, k, v, sums, deltas, True, dq, scale, False)
    for start in range(full, end, BC):
        keys = start + tl.arange(0, BC)
        k = read(K, k_strides, b, kv, start, Nk, d, BC, D, True, D_END, TMA)
        v = read(V, v_strides, b, kv, start, Nk, d, BC, D, True, D_END, TMA)
        visible = (keys < Nk)[None, :]
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None] + shift)
        dq = add_keys(q, do, k, v, sums, deltas, visible, dq, scale, True)
    write(dQ, dq_strides, b, h, i * BR, Nq, d, dq * scale, BR, D)
