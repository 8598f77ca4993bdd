"""Two kernels that compute nothing: an empty one, and one that moves an attention's tiles and no more.

What an attention kernel takes beyond them is its arithmetic; none that moves the same tiles through one block a
multiprocessor can be faster than the second.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma


@gluon.jit
def nothing(x):
    """No instruction."""


@gluon.jit
def moves_only(
    Q, K, V, O, blocks, Nk, BR: gl.constexpr, BC: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr
):
    """Fetch one Q block and all K, V tiles of its head into shared memory, and store Q as O: no arithmetic.

    Grid: `blocks` Q blocks of BR rows a head, times heads. Descriptors as for `gluon_forward`.
    """
    qs = gl.allocate_shared_memory(Q.dtype, [1, 1, BR, D], Q.layout)
    ks = gl.allocate_shared_memory(K.dtype, [STAGES, 1, 1, BC, D], K.layout)
    vs = gl.allocate_shared_memory(V.dtype, [STAGES, 1, 1, BC, D], V.layout)
    q_ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_ready, count=1)
    for s in gl.static_range(STAGES):
        mbarrier.init(ready.index(s), count=1)
    fence_async_shared()
    h, i = gl.program_id(0) // blocks, gl.program_id(0) % blocks
    count = gl.cdiv(Nk, BC)
    mbarrier.expect(q_ready, Q.block_type.nbytes)
    tma.async_copy_global_to_shared(Q, [0, h, i * BR, 0], q_ready, qs)
    for s in gl.static_range(STAGES):
        _fetch(K, V, h, s * BC, ks, vs, ready, s, s < count)
    mbarrier.wait(q_ready, 0)
    for n in range(count):
        mbarrier.wait(ready.index(n % STAGES), (n // STAGES) & 1)
        if n + STAGES < count:
            gl.thread_barrier()
            _fetch(K, V, h, (n + STAGES) * BC, ks, vs, ready, n % STAGES, True)
    tma.async_copy_shared_to_global(O, [0, h, i * BR, 0], qs)
    tma.store_wait(0)


@gluon.jit
def _fetch(K, V, h, start, ks, vs, ready, slot, wanted):
    mbarrier.expect(ready.index(slot), K.block_type.nbytes + V.block_type.nbytes, pred=wanted)
    tma.async_copy_global_to_shared(K, [0, h, start, 0], ready.index(slot), ks.index(slot), pred=wanted)
    tma.async_copy_global_to_shared(V, [0, h, start, 0], ready.index(slot), vs.index(slot), pred=wanted)
