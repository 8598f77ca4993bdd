"""FlashAttention's forward pass with a thread block that divides its labour (Hopper). Loaded only by a launch.

Adds to the TMA kernel: one warp does nothing but fetch K,V tiles, and two or three groups of four warps each own 64 rows of
the Q block. Inside a group the product Q K^T of the next tile and P V of this one run on the tensor cores while the
softmax in between runs on the ordinary units; groups take turns at the tensor cores, so that one multiplies while
another exponentiates. Blocks stay resident and take the next Q block from a list, so the next tiles are already under way
while the last output is written. K,V blocks are walked from the diagonal backwards: those that need a mask
come first.

After Shah et al. 2024 (FlashAttention-3), sections 3.1 and 3.2; FP8 is left out.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

#: Rows that one group of four warps owns.
ROWS = gl.constexpr(64)
#: Scaled scores beyond this have spacing above 2^6 in float32: see `weigh`.
HUGE = gl.constexpr(2.0**30)


@gluon.jit
def place(t, H, group, Nq, Nk, BR: gl.constexpr, BC: gl.constexpr, CAUSAL: gl.constexpr):
    """Where tile t of the list is and how far it walks: (batch, head, K,V head, Q block, K,V blocks, unmasked ones).

    At least one K,V block, so that a Q block which sees no key passes through the same code, all masked.
    """
    blocks = gl.cdiv(Nq, BR)
    head = t // blocks
    i = t % blocks
    end = Nk
    full = Nk // BC
    if CAUSAL:
        i = blocks - 1 - i
        shift = Nk - Nq
        end = gl.maximum(gl.minimum(Nk, (i + 1) * BR + shift), 1)
        full = gl.minimum(full, gl.maximum(i * BR + shift + 1, 0) // BC)
    return head // H, head % H, (head % H) // group, i, gl.cdiv(end, BC), full


@gluon.jit
def fetch(
    descriptors,
    buffers,
    barriers,
    sizes,
    BR: gl.constexpr,
    BC: gl.constexpr,
    STAGES: gl.constexpr,
    GROUPS: gl.constexpr,
    CAUSAL: gl.constexpr,
):
    """The fetching warp: for each Q block of this program's list, its Q rows, then K and V tiles, as buffers fall free."""
    Q, K, V, O = descriptors
    qs, ks, vs = buffers
    q_ready, q_free, k_ready, k_free, v_ready, v_free, turns = barriers
    tiles, H, group, Nq, Nk = sizes
    n = 0
    visit = 0
    for t in range(gl.program_id(0), tiles, gl.num_programs(0)):
        b, h, kv, i, count, full = place(t, H, group, Nq, Nk, BR, BC, CAUSAL)
        for g in gl.static_range(GROUPS):
            mbarrier.wait(q_free.index(g), (visit & 1) ^ 1)
            mbarrier.expect(q_ready.index(g), Q.block_type.nbytes)
            tma.async_copy_global_to_shared(Q, [b, h, i * BR + g * ROWS, 0], q_ready.index(g), qs.index(g))
        for j in range(count):
            start = (count - 1 - j) * BC
            slot = n % STAGES
            phase = ((n // STAGES) & 1) ^ 1
            mbarrier.wait(k_free.index(slot), phase)
            mbarrier.expect(k_ready.index(slot), K.block_type.nbytes)
            tma.async_copy_global_to_shared(K, [b, kv, start, 0], k_ready.index(slot), ks.index(slot))
            mbarrier.wait(v_free.index(slot), phase)
            mbarrier.expect(v_ready.index(slot), V.block_type.nbytes)
            tma.async_copy_global_to_shared(V, [b, kv, start, 0], v_ready.index(slot), vs.index(slot))
            n += 1
        visit += 1


@gluon.jit
def weigh(S, m, l, visible, factor, nearest_power, MASKED: gl.constexpr, FUSED: gl.constexpr):
    """Weights P of scores S, with the new m (unscaled) and l and the factor alpha for what came before.

    P = 2^(factor S - factor m) is one multiply-add a score if factor m is rounded first, but then even the largest
    score leaves a remainder, which beyond `HUGE` is no longer a small common factor. There two different scores are
    so far apart that all but the largest weigh nothing, whatever the factor: a power of two makes the products exact.
    """
    if MASKED:
        S = gl.where(visible, S, -float("inf"))
    m_new = gl.maximum(m, gl.max(S, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new) if MASKED else m_new
    if FUSED:
        huge = gl.abs(shift * factor) > HUGE
        row_factor = gl.where(huge, nearest_power, factor)
        shifted = shift * row_factor
        before = m * factor
        alpha = gl.exp2(before - shifted)
        same = gl.where(m == m_new, 1.0, 0.0)
        alpha = gl.where(huge | (gl.abs(before) > HUGE), same, alpha)
        P = gl.exp2(gl.fma(S, gl.expand_dims(row_factor, 1), -gl.expand_dims(shifted, 1)))
    else:
        alpha = gl.exp2((m - shift) * factor)
        P = gl.exp2((S - gl.expand_dims(shift, 1)) * factor)
    return P, m_new, alpha * l + gl.sum(P, axis=1), alpha


@gluon.jit
def attend(
    g: gl.constexpr,
    descriptors,
    buffers,
    barriers,
    sizes,
    L,
    scale,
    nearest_power,
    BR: gl.constexpr,
    BC: gl.constexpr,
    D: gl.constexpr,
    STAGES: gl.constexpr,
    GROUPS: gl.constexpr,
    CAUSAL: gl.constexpr,
    TURNS: gl.constexpr,
    FUSED: gl.constexpr,
):
    """Group g of four warps: rows g * 64 to g * 64 + 63 of each Q block of this program's list."""
    Q, K, V, O = descriptors
    qs, ks, vs = buffers
    q_ready, q_free, k_ready, k_free, v_ready, v_free, turns = barriers
    tiles, H, group, Nq, Nk = sizes
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BC, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    s_rows: gl.constexpr = gl.SliceLayout(1, s_layout)
    o_rows: gl.constexpr = gl.SliceLayout(1, o_layout)
    dtype: gl.constexpr = Q.dtype
    factor = scale * 1.4426950408889634
    q_tile = qs.index(g)
    q = q_tile.reshape([ROWS, D])
    other: gl.constexpr = (g + 1) % GROUPS
    empty = gl.zeros([ROWS, BC], gl.float32, s_layout)
    shift = Nk - Nq
    n = 0
    visit = 0
    turn = 0
    for t in range(gl.program_id(0), tiles, gl.num_programs(0)):
        b, h, kv, i, count, full = place(t, H, group, Nq, Nk, BR, BC, CAUSAL)
        first_row = i * BR + g * ROWS
        rows = first_row + gl.arange(0, ROWS, s_rows)
        keys = gl.arange(0, BC, gl.SliceLayout(0, s_layout))
        m = gl.full([ROWS], -float("inf"), gl.float32, s_rows)
        l = gl.zeros([ROWS], gl.float32, s_rows)
        acc = gl.zeros([ROWS, D], gl.float32, o_layout)

        # The first tile's scores, for which there is no P V yet to run beside.
        mbarrier.wait(q_ready.index(g), visit & 1)
        mbarrier.wait(k_ready.index(n % STAGES), (n // STAGES) & 1)
        S = warpgroup_mma(
            q, ks.index(n % STAGES).reshape([BC, D]).permute((1, 0)), empty, use_acc=False, is_async=True
        )
        S = warpgroup_mma_wait(0, deps=(S,))
        mbarrier.arrive(k_free.index(n % STAGES), count=1)
        start = (count - 1) * BC
        visible = gl.expand_dims(start + keys < Nk, 0)
        if CAUSAL:
            visible = visible & (gl.expand_dims(start + keys, 0) <= gl.expand_dims(rows + shift, 1))
        P, m, l, alpha = weigh(S, m, l, visible, factor, nearest_power, True, FUSED)
        P = gl.convert_layout(P.to(dtype), p_layout)
        mbarrier.wait(v_ready.index(n % STAGES), (n // STAGES) & 1)

        # Masked tiles, then the rest: scores of tile j while tile j - 1 meets its V.
        for j in range(1, count - full):
            n, turn, P, m, l, acc = step(
                n, turn, P, m, l, acc, q, empty, ks, vs, barriers, (count - 1 - j) * BC, rows, keys, Nk, shift, factor,
                nearest_power, g, other, BC, D, STAGES, CAUSAL, True, TURNS, FUSED, dtype, p_layout, o_rows,
            )  # fmt: skip
        for j in range(gl.maximum(count - full, 1), count):
            n, turn, P, m, l, acc = step(
                n, turn, P, m, l, acc, q, empty, ks, vs, barriers, (count - 1 - j) * BC, rows, keys, Nk, shift, factor,
                nearest_power, g, other, BC, D, STAGES, CAUSAL, False, TURNS, FUSED, dtype, p_layout, o_rows,
            )  # fmt: skip

        # The last P V, and out.
        slot = n % STAGES
        acc = warpgroup_mma(P, vs.index(slot).reshape([BC, D]), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(v_free.index(slot), count=1)
        n += 1
        visit += 1
        l = gl.where(l == 0.0, 1.0, l)
        out = acc / gl.expand_dims(gl.convert_layout(l, o_rows), 1)
        # O leaves through the buffer of Q, which nobody reads any more.
        q_tile.reshape([ROWS, D]).store(out.to(dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(O, [b, h, first_row, 0], q_tile)
        head = (b * H + h).to(gl.int64)
        gl.store(L + head * Nq + rows, m * scale + gl.log(l), mask=rows < Nq)
        tma.store_wait(0)
        mbarrier.arrive(q_free.index(g), count=1)


@gluon.jit
def step(
    n,
    turn,
    P,
    m,
    l,
    acc,
    q,
    empty,
    ks,
    vs,
    barriers,
    start,
    rows,
    keys,
    Nk,
    shift,
    factor,
    nearest_power,
    g: gl.constexpr,
    other: gl.constexpr,
    BC: gl.constexpr,
    D: gl.constexpr,
    STAGES: gl.constexpr,
    CAUSAL: gl.constexpr,
    MASKED: gl.constexpr,
    TURNS: gl.constexpr,
    FUSED: gl.constexpr,
    dtype: gl.constexpr,
    p_layout: gl.constexpr,
    o_rows: gl.constexpr,
):
    """One tile: asks for its scores and for P V of the tile before, weighs the scores while P V runs."""
    q_ready, q_free, k_ready, k_free, v_ready, v_free, turns = barriers
    slot, next_slot = n % STAGES, (n + 1) % STAGES
    mbarrier.wait(k_ready.index(next_slot), ((n + 1) // STAGES) & 1)
    if TURNS:
        # The first turn is group 0's: a fresh barrier counts as passed in phase 1.
        mbarrier.wait(turns.index(g), (turn & 1) ^ (1 if g == 0 else 0))
    S = warpgroup_mma(
        q, ks.index(next_slot).reshape([BC, D]).permute((1, 0)), empty, use_acc=False, is_async=True
    )
    acc = warpgroup_mma(P, vs.index(slot).reshape([BC, D]), acc, is_async=True)
    if TURNS:
        mbarrier.arrive(turns.index(other), count=1)
    S = warpgroup_mma_wait(1, deps=(S,))
    mbarrier.arrive(k_free.index(next_slot), count=1)
    visible = None
    if MASKED:
        visible = gl.expand_dims(start + keys < Nk, 0)
        if CAUSAL:
            visible = visible & (gl.expand_dims(start + keys, 0) <= gl.expand_dims(rows + shift, 1))
    weights, m, l, alpha = weigh(S, m, l, visible, factor, nearest_power, MASKED, FUSED)
    P_next = gl.convert_layout(weights.to(dtype), p_layout)
    # The next V is asked for here, a step early, because the assembler moves no exponential past this wait (a loop) but would
    # move them past the next, and P V would run alone.
    mbarrier.wait(v_ready.index(next_slot), ((n + 1) // STAGES) & 1)
    acc, P, P_next = warpgroup_mma_wait(0, deps=(acc, P, P_next))
    mbarrier.arrive(v_free.index(slot), count=1)
    acc = acc * gl.expand_dims(gl.convert_layout(alpha, o_rows), 1)
    return n + 1, turn + 1, P_next, m, l, acc


@gluon.jit
def gluon_forward(
    Q,
    K,
    V,
    O,
    L,
    tiles,
    H,
    group,
    Nq,
    Nk,
    scale,
    nearest_power,
    BC: gl.constexpr,
    D: gl.constexpr,
    STAGES: gl.constexpr,
    GROUPS: gl.constexpr,
    CAUSAL: gl.constexpr,
    TURNS: gl.constexpr,
    FUSED: gl.constexpr,
    REGISTERS: gl.constexpr,
):
    """O and the logsumexp L (B, H, Nq); Q, K, V, O are descriptors of (B, heads, N, d) tensors, Q and O of 64 rows.

    Grid: any number of programs; each takes every num_programs-th of the `tiles` = ceil(Nq / 64 GROUPS) * B * H Q blocks.
    `nearest_power` is the power of two nearest to scale * log2 e. REGISTERS: of a thread of a working group.
    """
    BR: gl.constexpr = ROWS * GROUPS
    qs = gl.allocate_shared_memory(Q.dtype, [GROUPS, 1, 1, ROWS, D], Q.layout)
    ks = gl.allocate_shared_memory(K.dtype, [STAGES, 1, 1, BC, D], K.layout)
    vs = gl.allocate_shared_memory(V.dtype, [STAGES, 1, 1, BC, D], V.layout)
    q_ready = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    q_free = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    k_ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for g in gl.static_range(GROUPS):
        mbarrier.init(q_ready.index(g), count=1)
        mbarrier.init(q_free.index(g), count=1)
        mbarrier.init(turns.index(g), count=1)
    for s in gl.static_range(STAGES):
        mbarrier.init(k_ready.index(s), count=1)
        mbarrier.init(k_free.index(s), count=GROUPS)
        mbarrier.init(v_ready.index(s), count=1)
        mbarrier.init(v_free.index(s), count=GROUPS)
    fence_async_shared()
    descriptors = (Q, K, V, O)
    buffers = (qs, ks, vs)
    barriers = (q_ready, q_free, k_ready, k_free, v_ready, v_free, turns)
    sizes = (tiles, H, group, Nq, Nk)
    # The argument tuples are spelled out: a tuple kept in a variable turns its constants into run-time values.
    # fmt: off
    if GROUPS == 2:
        gl.warp_specialize([
            (attend, (0, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, FUSED)),
            (attend, (1, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, FUSED)),
            (fetch, (descriptors, buffers, barriers, sizes, BR, BC, STAGES, GROUPS, CAUSAL)),
        ], [4, 1], [REGISTERS, 24])
    else:
        gl.warp_specialize([
            (attend, (0, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, FUSED)),
            (attend, (1, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, FUSED)),
            (attend, (2, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, FUSED)),
            (fetch, (descriptors, buffers, barriers, sizes, BR, BC, STAGES, GROUPS, CAUSAL)),
        ], [4, 4, 1], [REGISTERS, REGISTERS, 24])
    # fmt: on
