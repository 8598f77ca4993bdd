"""Waves of Q blocks, and how often they read K and V: the `waves` model of `workshop.traffic` with several heads.

`traffic` counts a head as if it had the chip alone: ceil(Tr / R) readings. A GPU starts the blocks of all heads in
one row, head after head, so the end of one head and the beginning of the next share a wave. That explains what DRAM
counters say of several long heads, where the single-head count is too low (`workshop.recordings.boundaries`).
"""


def wave_passes(Tr: int, resident: int, heads: int) -> int:
    """How often K and V of a head are read from DRAM, summed over the heads.

    Args:
        Tr: Q blocks of a head. resident: blocks that the whole GPU holds at once, R. heads: of the layer.

    Each wave of R blocks walks over K and V of every head it has blocks of, so a wave that straddles two heads
    reads both: ceil(heads Tr / R) + heads - 1 passes, less one for each head after the first that begins with a
    wave. For one head this is ceil(Tr / R), as in `traffic`. Raises ValueError below 1.
    """
    if min(Tr, resident, heads) < 1:
        raise ValueError(f"Tr, resident, heads: expected 1 or more; got {Tr!r}, {resident!r}, {heads!r}")
    return sum(((h + 1) * Tr - 1) // resident - h * Tr // resident + 1 for h in range(heads))
