"""FlashAttention's forward pass with a thread block that divides its labour (Hopper). Loaded only by a launch.

Adds to the TMA kernel: one warp does nothing but fetch tiles, and two or three groups of four warps each own 64 rows
of the Q block. Inside a group the product Q K^T of the next tile and P V of this one run on the tensor cores while
the softmax in between runs on the ordinary units; with TURNS, groups ask for their products one after the other, so
that one multiplies while another exponentiates. Blocks can stay resident and take Q block after Q block, so that the
next tiles are under way while the last output is written. K,V blocks are walked from the diagonal backwards: those
that need a mask come first.

V of one tile and K of the next are needed at the same time, so they travel as a pair: one barrier says that both are
there and one that both may be overwritten. Every barrier saved is a halt of four warps saved.

Reaches, TFLOP/s without and with a causal mask: 677 and 569 at d = 128, N = 4096; 635 and 630 at N = 16,384; 466 and
397 at d = 64, N = 4096; 692 and 564 at d = 256, N = 4096 (H200, bfloat16, 32 heads, triton 3.6.0, 2026-11-29; the
table beside cuDNN is in recordings/h200-tests.md). With APART, where O leaves through shared memory of its own, the
next Q is under way before the last P V: 2 to 5 % at d = 64 and 128. Tried and left out: asking for scores a whole tile
earlier, which leaves no wait for a product inside a step but needs 64 more registers, was 4 to 10 % slower at d = 64.

After Shah et al. 2024 (FlashAttention-3), sections 3.1 and 3.2; its FP8 is left out.
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
#: Scaled scores beyond this lie at least 2^6 apart in float32: see `weigh`.
HUGE = gl.constexpr(2.0**30)
LOG2E = gl.constexpr(1.4426950408889634)


@gluon.jit
def share(tiles, GROUPS: gl.constexpr, CAUSAL: gl.constexpr):
    """What this program takes of the list of tiles: (how many, whether the last of them is a single group's rows).

    All tiles of a list without a mask take equally long, so a last round that only some programs take part in costs
    as much as a full one. Where it can be, it is cut into the rows of one group, and each program takes one such part.
    """
    p, programs = gl.program_id(0), gl.num_programs(0)
    rounds, left = tiles // programs, tiles % programs
    count = rounds + (tile_number(rounds) < tiles).to(gl.int32)
    cut = (left > 0) & (left * GROUPS <= programs) & (rounds > 0)
    if CAUSAL:
        cut = cut & False
    part = cut & (p < left * GROUPS)
    return gl.where(cut, rounds + part.to(gl.int32), count), part


@gluon.jit
def tile_number(turn):
    """The tile that this program takes in a round: to and fro, so that over two rounds all get as long tiles."""
    p, programs = gl.program_id(0), gl.num_programs(0)
    return turn * programs + gl.where(turn % 2 == 0, p, programs - 1 - p)


@gluon.jit
def part_number(tiles, GROUPS: gl.constexpr):
    """The tile whose rows this program takes a part of in a last round that is cut, and which group's rows."""
    p, programs = gl.program_id(0), gl.num_programs(0)
    return tiles // programs * programs + p // GROUPS, p % GROUPS


@gluon.jit
def place(t, heads, H, group, Nq, Nk, together, BR: gl.constexpr, BC: gl.constexpr, CAUSAL: gl.constexpr):
    """Tile t of the list: (batch, head, K,V head, Q block, K,V blocks it meets, how many of them whole).

    Causal: the longest Q blocks first, of `together` heads at a time, whose K and V fit in the L2 cache. There is at
    least one K,V block, so that a Q block which sees no key passes through the same code, all masked.
    """
    blocks = gl.cdiv(Nq, BR)
    end = Nk
    full = Nk // BC
    if CAUSAL:
        first_head = t // (blocks * together) * together
        abreast = gl.minimum(together, heads - first_head)
        t = t % (blocks * together)
        head = first_head + t % abreast
        i = blocks - 1 - t // abreast
        shift = Nk - Nq
        end = gl.maximum(gl.minimum(Nk, (i + 1) * BR + shift), 1)
        full = gl.minimum(full, gl.maximum(i * BR + shift + 1, 0) // BC)
    else:
        head = t // blocks
        i = t % blocks
    h = head % H
    return head // H, h, h // group, i, gl.cdiv(end, BC), full


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
    """The fetching warp: for each Q block its rows, the first K tile, pairs (V, next K), and the last V tile."""
    Q, K, V, _O = descriptors
    qs, ks, vs, _os = buffers
    q_ready, q_free, ready, free, _turns = barriers
    tiles, heads, H, group, Nq, Nk, together = sizes
    n = 0
    visits, cut = share(tiles, GROUPS, CAUSAL)
    for visit in range(visits):
        t = tile_number(visit)
        alone = cut & (visit == visits - 1)
        part, rows_of = part_number(tiles, GROUPS)
        t = gl.where(alone, part, t)
        b, h, kv, i, count, _full = place(t, heads, H, group, Nq, Nk, together, BR, BC, CAUSAL)
        # K before Q: its place is free while the groups are still at the rows before.
        slot = n % STAGES
        mbarrier.wait(free.index(slot), ((n // STAGES) & 1) ^ 1)
        mbarrier.expect(ready.index(slot), K.block_type.nbytes)
        tma.async_copy_global_to_shared(K, [b, kv, (count - 1) * BC, 0], ready.index(slot), ks.index(slot))
        n += 1
        for g in gl.static_range(GROUPS):
            # A cut tile is group 0's.
            mine = (g == 0) | (alone == 0)
            row = i * BR + gl.where(alone, rows_of, g) * ROWS
            mbarrier.wait(q_free.index(g), (visit & 1) ^ 1, pred=mine)
            mbarrier.expect(q_ready.index(g), Q.block_type.nbytes, pred=mine)
            tma.async_copy_global_to_shared(Q, [b, h, row, 0], q_ready.index(g), qs.index(g), pred=mine)
        for j in range(1, count):
            start = (count - 1 - j) * BC
            slot = n % STAGES
            mbarrier.wait(free.index(slot), ((n // STAGES) & 1) ^ 1)
            mbarrier.expect(ready.index(slot), K.block_type.nbytes + V.block_type.nbytes)
            tma.async_copy_global_to_shared(K, [b, kv, start, 0], ready.index(slot), ks.index(slot))
            tma.async_copy_global_to_shared(V, [b, kv, start + BC, 0], ready.index(slot), vs.index(slot))
            n += 1
        slot = n % STAGES
        mbarrier.wait(free.index(slot), ((n // STAGES) & 1) ^ 1)
        mbarrier.expect(ready.index(slot), V.block_type.nbytes)
        tma.async_copy_global_to_shared(V, [b, kv, 0, 0], ready.index(slot), vs.index(slot))
        n += 1


@gluon.jit
def weigh(S, m, l, visible, factor, nearest_power, MASKED: gl.constexpr):
    """Weights P of scores S, the new m (unscaled) and l, and the factor alpha for what came before.

    P = 2^(factor S - factor m) is one multiply-add a score if factor m is rounded first, but then even the largest
    score leaves a remainder, which beyond `HUGE` is no longer a small common factor. There two different scores are
    so far apart that all but the largest weigh nothing, whatever the factor: a power of two makes products exact.
    """
    if MASKED:
        S = gl.where(visible, S, -float("inf"))
    m_new = gl.maximum(m, gl.max(S, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new) if MASKED else m_new
    huge = gl.abs(shift * factor) > HUGE
    row_factor = gl.where(huge, nearest_power, factor)
    shifted = shift * row_factor
    before = m * factor
    alpha = gl.where(huge | (gl.abs(before) > HUGE), 0.0, gl.exp2(before - shifted))
    # Exactly 1 where m stays: the difference above may be fused with a product, and what that leaves would add up
    # over a thousand tiles.
    alpha = gl.where(m == m_new, 1.0, alpha)
    P = gl.exp2(gl.fma(S, gl.expand_dims(row_factor, 1), -gl.expand_dims(shifted, 1)))
    return P, m_new, alpha * l + gl.sum(P, axis=1), alpha


@gluon.jit
def seen(start, rows, keys, Nk, shift, CAUSAL: gl.constexpr):
    """Which scores of the tile at key `start` count: (rows, keys), or (1, keys) where only the end matters."""
    visible = gl.expand_dims(start + keys < Nk, 0)
    if CAUSAL:
        visible = visible & (gl.expand_dims(start + keys, 0) <= gl.expand_dims(rows + shift, 1))
    return visible


@gluon.jit
def step(
    n, turn, P, m, l, acc, q, empty, ks, vs, barriers, start, rows, keys, Nk, shift, factor, nearest_power, alone,
    g: gl.constexpr, GROUPS: gl.constexpr, STAGES: gl.constexpr, CAUSAL: gl.constexpr, MASKED: gl.constexpr,
    TURNS: gl.constexpr, p_layout: gl.constexpr, o_rows: gl.constexpr,
):  # fmt: skip
    """One tile: asks for its scores and for P V of the tile before, weighs the scores while P V runs."""
    _q_ready, _q_free, ready, free, turns = barriers
    slot, next_slot = n % STAGES, (n + 1) % STAGES
    BC: gl.constexpr = empty.shape[1]
    D: gl.constexpr = acc.shape[1]
    if TURNS:
        # The first turn is group 0's: a fresh barrier counts as passed in phase 1.
        mbarrier.wait(turns.index(g), (turn & 1) ^ (1 if g == 0 else 0), pred=alone == 0)
    S = warpgroup_mma(q, ks.index(slot).reshape([BC, D]).permute((1, 0)), empty, use_acc=False, is_async=True)
    acc = warpgroup_mma(P, vs.index(slot).reshape([BC, D]), acc, is_async=True)
    if TURNS:
        mbarrier.arrive(turns.index((g + 1) % GROUPS), count=1, pred=alone == 0)
    S = warpgroup_mma_wait(1, deps=(S,))
    visible = seen(start, rows, keys, Nk, shift, CAUSAL) if MASKED else None
    weights, m, l, alpha = weigh(S, m, l, visible, factor, nearest_power, MASKED)
    P_next = gl.convert_layout(weights.to(q.dtype), p_layout)
    # The next pair is asked for here, before P V is done, because the assembler moves no exponential past this wait (it
    # is a loop) but would move them past the next one, and P V would run alone.
    mbarrier.wait(ready.index(next_slot), ((n + 1) // STAGES) & 1)
    acc, P, P_next = warpgroup_mma_wait(0, deps=(acc, P, P_next))
    mbarrier.arrive(free.index(slot), count=1)
    acc = acc * gl.expand_dims(gl.convert_layout(alpha, o_rows), 1)
    return n + 1, turn + 1, P_next, m, l, acc


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
    APART: gl.constexpr,
):
    """Group g of four warps: rows g * 64 to g * 64 + 63 of each Q block that this program takes."""
    _Q, _K, _V, O = descriptors
    qs, ks, vs, os = buffers
    q_ready, q_free, ready, free, _turns = barriers
    tiles, heads, H, group, Nq, Nk, together = sizes
    s_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BC, 16])
    o_layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    s_rows: gl.constexpr = gl.SliceLayout(1, s_layout)
    o_rows: gl.constexpr = gl.SliceLayout(1, o_layout)
    factor = scale * LOG2E
    q = qs.index(g).reshape([ROWS, D])
    empty = gl.zeros([ROWS, BC], gl.float32, s_layout)
    shift = Nk - Nq
    n = 0
    turn = 0
    visits, cut = share(tiles, GROUPS, CAUSAL)
    part, rows_of = part_number(tiles, GROUPS)
    # A cut tile is group 0's; the others only let its K,V tiles pass.
    own_visits = visits if g == 0 else visits - cut.to(gl.int32)
    for visit in range(own_visits):
        alone = cut & (visit == visits - 1)
        t = gl.where(alone, part, tile_number(visit))
        b, h, _kv, i, count, full = place(t, heads, H, group, Nq, Nk, together, BR, BC, CAUSAL)
        first_row = i * BR + gl.where(alone, rows_of, g) * ROWS
        rows = first_row + gl.arange(0, ROWS, s_rows)
        keys = gl.arange(0, BC, gl.SliceLayout(0, s_layout))
        m = gl.full([ROWS], -float("inf"), gl.float32, s_rows)
        l = gl.zeros([ROWS], gl.float32, s_rows)
        acc = gl.zeros([ROWS, D], gl.float32, o_layout)

        # The first tile's scores, for which there is no P V yet to run beside.
        mbarrier.wait(q_ready.index(g), visit & 1)
        slot = n % STAGES
        mbarrier.wait(ready.index(slot), (n // STAGES) & 1)
        S = warpgroup_mma(
            q, ks.index(slot).reshape([BC, D]).permute((1, 0)), empty, use_acc=False, is_async=True
        )
        S = warpgroup_mma_wait(0, deps=(S,))
        mbarrier.arrive(free.index(slot), count=1)
        visible = seen((count - 1) * BC, rows, keys, Nk, shift, CAUSAL)
        P, m, l, _alpha = weigh(S, m, l, visible, factor, nearest_power, True)
        P = gl.convert_layout(P.to(q.dtype), p_layout)
        n += 1
        mbarrier.wait(ready.index(n % STAGES), (n // STAGES) & 1)

        # Masked tiles, then the others: scores of tile j while tile j - 1 meets its V.
        for j in range(1, count - full):
            n, turn, P, m, l, acc = step(
                n, turn, P, m, l, acc, q, empty, ks, vs, barriers, (count - 1 - j) * BC, rows, keys, Nk, shift,
                factor, nearest_power, alone, g, GROUPS, STAGES, CAUSAL, True, TURNS, p_layout, o_rows,
            )  # fmt: skip
        for j in range(gl.maximum(count - full, 1), count):
            n, turn, P, m, l, acc = step(
                n, turn, P, m, l, acc, q, empty, ks, vs, barriers, (count - 1 - j) * BC, rows, keys, Nk, shift,
                factor, nearest_power, alone, g, GROUPS, STAGES, CAUSAL, False, TURNS, p_layout, o_rows,
            )  # fmt: skip

        if APART:
            # All scores are in: the next rows may come while the last P V runs and O leaves.
            mbarrier.arrive(q_free.index(g), count=1)
        # The last P V, and out.
        slot = n % STAGES
        acc = warpgroup_mma(P, vs.index(slot).reshape([BC, D]), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc,))
        mbarrier.arrive(free.index(slot), count=1)
        n += 1
        l = gl.where(l == 0.0, 1.0, l)
        out = acc / gl.expand_dims(gl.convert_layout(l, o_rows), 1)
        if APART:
            # The O before, which leaves from the same place.
            tma.store_wait(0)
        os.index(g).reshape([ROWS, D]).store(out.to(q.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(O, [b, h, first_row, 0], os.index(g))
        head = (b * H + h).to(gl.int64)
        gl.store(L + head * Nq + rows, m * scale + gl.log(l), mask=rows < Nq)
        if not APART:
            # O leaves through the buffer of Q, which nobody reads any more.
            tma.store_wait(0)
            mbarrier.arrive(q_free.index(g), count=1)
    tma.store_wait(0)
    if g > 0:
        _b, _h, _kv, _i, count, _full = place(part, heads, H, group, Nq, Nk, together, BR, BC, CAUSAL)
        for _j in range(gl.where(cut, count + 1, 0)):
            mbarrier.wait(ready.index(n % STAGES), (n // STAGES) & 1)
            mbarrier.arrive(free.index(n % STAGES), count=1)
            n += 1


#: Arguments of which nothing in the machine code depends: one build serves all lengths.
ANY = ("tiles", "heads", "H", "group", "Nq", "Nk", "together")


@gluon.jit(do_not_specialize=ANY)
def gluon_forward(
    Q,
    K,
    V,
    O,
    L,
    tiles,
    heads,
    H,
    group,
    Nq,
    Nk,
    together,
    scale,
    nearest_power,
    BC: gl.constexpr,
    D: gl.constexpr,
    STAGES: gl.constexpr,
    GROUPS: gl.constexpr,
    CAUSAL: gl.constexpr,
    TURNS: gl.constexpr,
    APART: gl.constexpr,
    REGISTERS: gl.constexpr,
):
    """O and the logsumexp L (B, H, Nq); Q, K, V, O are descriptors of (B, heads, N, d) tensors, Q and O of 64 rows.

    Grid: any number of programs; they share the `tiles` = ceil(Nq / 64 GROUPS) * `heads` (B * H) Q blocks. together:
    heads walked abreast, see `place`. nearest_power: the power of two nearest to scale * log2 e. STAGES: pairs in
    flight. APART: O leaves through shared memory of its own, not that of Q. REGISTERS: of a thread of a group.
    """
    BR: gl.constexpr = ROWS * GROUPS
    qs = gl.allocate_shared_memory(Q.dtype, [GROUPS, 1, 1, ROWS, D], Q.layout)
    ks = gl.allocate_shared_memory(K.dtype, [STAGES, 1, 1, BC, D], K.layout)
    vs = gl.allocate_shared_memory(V.dtype, [STAGES, 1, 1, BC, D], V.layout)
    q_ready = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    q_free = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for g in gl.static_range(GROUPS):
        mbarrier.init(q_ready.index(g), count=1)
        mbarrier.init(q_free.index(g), count=1)
        mbarrier.init(turns.index(g), count=1)
    for s in gl.static_range(STAGES):
        mbarrier.init(ready.index(s), count=1)
        mbarrier.init(free.index(s), count=GROUPS)
    fence_async_shared()
    descriptors = (Q, K, V, O)
    os = gl.allocate_shared_memory(O.dtype, [GROUPS, 1, 1, ROWS, D], O.layout) if APART else qs
    buffers = (qs, ks, vs, os)
    barriers = (q_ready, q_free, ready, free, turns)
    sizes = (tiles, heads, H, group, Nq, Nk, together)
    # The argument tuples are spelled out: a tuple kept in a variable turns its constants into run-time values.
    # fmt: off
    if GROUPS == 2:
        gl.warp_specialize([
            (attend, (0, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, APART)),
            (attend, (1, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, APART)),
            (fetch, (descriptors, buffers, barriers, sizes, BR, BC, STAGES, GROUPS, CAUSAL)),
        ], [4, 1], [REGISTERS, 24])
    else:
        gl.warp_specialize([
            (attend, (0, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, APART)),
            (attend, (1, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, APART)),
            (attend, (2, descriptors, buffers, barriers, sizes, L, scale, nearest_power,
                      BR, BC, D, STAGES, GROUPS, CAUSAL, TURNS, APART)),
            (fetch, (descriptors, buffers, barriers, sizes, BR, BC, STAGES, GROUPS, CAUSAL)),
        ], [4, 4, 1], [REGISTERS, REGISTERS, 24])
    # fmt: on
