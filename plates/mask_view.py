"""The picture of a mask with its tiles, and the sheet on which a reader paints one."""

from __future__ import annotations

from typing import ClassVar

import param

from plates.drawn import Drawn, Picture
from plates.text import STATIC, static
from workshop import block_masks, mask_picture, masks


class MaskView(Drawn):
    """Draws a corner of a mask; takes a painting with pointer and keyboard.

    ``picture`` holds the tokens of the corner (q0, q1, k0, k1), the tile (Br, Bc), live scores and kind of each
    tile, counts by kind, and the live part as rectangles. ``code`` is the painting, written by both sides.
    """

    picture = Picture("null", doc="What to draw.")
    code = param.String(doc="The painting as 43 characters.")
    opening = param.String(doc="The painting to go back to.")
    words = param.Dict(doc="Labels.")

    _esm = STATIC / "mask.js"
    _stylesheets: ClassVar[list[str]] = [static("mask.css")]


def drawing(corner: mask_picture.Corner, Br: int, Bc: int) -> dict:
    """A corner of a mask under tiles of Br x Bc, as `MaskView` draws it."""
    live = mask_picture.tile_rows(corner, Br, Bc)
    kinds = block_masks.tile_kinds(corner.mask, Br, Bc, corner.rows, corner.tiles)
    q0, q1, k0, k1 = corner.tokens(Br, Bc)
    return {
        "q0": q0,
        "q1": q1,
        "k0": k0,
        "k1": k1,
        "Br": Br,
        "Bc": Bc,
        "live": live,
        "kinds": kinds.tolist(),
        "counts": [int((kinds == kind).sum()) for kind in (masks.SKIPPED, masks.PARTIAL, masks.FULL)],
        **mask_picture.outlines(corner, Br, Bc),
    }
