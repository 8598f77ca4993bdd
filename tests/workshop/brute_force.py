"""Traffic counted the slow way: run the loops of each algorithm over an explicit mask and add up what moves.

Nothing here is shared with the models: tiles come from slicing rows, masks are boolean matrices, and what a
step moves is the size of the slice it would load or store.
"""

import numpy as np


def mask(N, causal, Nq=None):
    """Boolean (Nq, N): which scores are live; bottom-right aligned."""
    Nq = N if Nq is None else Nq
    rows, keys = np.arange(Nq)[:, None], np.arange(N)[None, :]
    return keys <= rows + (N - Nq) if causal else np.ones((Nq, N), dtype=bool)


def blocks(length, step):
    """Row ranges of a tensor cut in blocks, the last one short."""
    return [range(length)[start : start + step] for start in range(0, length, step)]


def live(matrix, rows, keys):
    """Whether any score of the tile is live."""
    return bool(matrix[rows.start : rows.stop, keys.start : keys.stop].any())


def standard(N, d, causal, skip_masked):
    scores = int(mask(N, causal).sum()) if skip_masked else N * N
    moved = {"Q": N * d, "K": N * d, "V": N * d, "O": N * d}
    moved["S"] = 2 * scores
    moved["P"] = 2 * scores
    return moved


def query_outer(N, d, Br, Bc, causal, together=1):
    """Q blocks outside, `together` of them sharing every K,V block that any of them needs."""
    matrix = mask(N, causal)
    moved = dict.fromkeys("QKVO", 0)
    queries = blocks(N, Br)
    for start in range(0, len(queries), together):
        wave = queries[start : start + together]
        moved["Q"] += sum(len(rows) for rows in wave) * d
        for keys in blocks(N, Bc):
            if any(live(matrix, rows, keys) for rows in wave):
                moved["K"] += len(keys) * d
                moved["V"] += len(keys) * d
        moved["O"] += sum(len(rows) for rows in wave) * d
    return moved


def key_outer(N, d, Br, Bc, causal):
    """K,V blocks outside; O and the statistics return for every visit but the first of a row."""
    matrix = mask(N, causal)
    moved = {"K": 0, "V": 0, "Q": 0, "O": 0, "m, l": 0}
    started = set()
    for keys in blocks(N, Bc):
        moved["K"] += len(keys) * d
        moved["V"] += len(keys) * d
        for rows in blocks(N, Br):
            if not live(matrix, rows, keys):
                continue
            moved["Q"] += len(rows) * d
            if rows.start in started:
                moved["O"] += len(rows) * d
                moved["m, l"] += 2 * len(rows)
            started.add(rows.start)
            moved["O"] += len(rows) * d
            moved["m, l"] += 2 * len(rows)
    return moved


def visits(N, Br, Bc, causal, Nq=None):
    """(tiles visited, scores computed, K rows read, Q rows read) over all tiles."""
    matrix = mask(N, causal, Nq)
    found = [
        (len(rows), len(keys))
        for rows in blocks(matrix.shape[0], Br)
        for keys in blocks(N, Bc)
        if live(matrix, rows, keys)
    ]
    return (
        len(found),
        sum(rows * keys for rows, keys in found),
        sum(keys for _, keys in found),
        sum(rows for rows, _ in found),
    )
