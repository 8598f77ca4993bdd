"""Which colour a model or a measured kernel has: one role a name, on every plate."""

from __future__ import annotations

#: A model of traffic (`workshop.traffic.MODELS`) -> role of `plates.theme.PALETTES`.
MODEL = {
    "standard": "standard",
    "bound": "flash",
    "tiled": "tiled",
    "algorithm_1": "algorithm-1",
    "compulsory": "hbm",
    "waves": "ink",
}
#: A measured kernel -> role: the teaching kernel is the tiles of `tiled`; kernels from elsewhere have no hue.
PROVIDER = {
    "standard": "standard",
    "teaching": "tiled",
    "fast": "flash",
    "sdpa-cudnn": "ink",
    "sdpa-flash": "muted",
    "sdpa-efficient": "muted",
}
