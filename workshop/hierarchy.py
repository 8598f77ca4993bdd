"""Where a GPU can keep a number: from the registers to the host, with size and bandwidth as far as published.

Sizes come from the record in `hardware`. A bandwidth that no maker's document gives is None: it is unknown here,
not zero, and nothing is derived in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from workshop.hardware import GPU


@dataclass(frozen=True)
class Level:
    """One level of memory.

    each: bytes of one piece, or None where the size depends on the machine around the GPU. pieces: how many of
    them the chip has. bandwidth: B/s of all pieces together, or None where not published. on_chip: whether it is
    on the chip. remark: one clause for the reader.
    """

    slug: str
    name: str
    each: int | None
    pieces: int
    bandwidth: float | None
    on_chip: bool
    remark: str

    @property
    def total(self) -> int | None:
        """Bytes of the whole chip, or None."""
        return None if self.each is None else self.each * self.pieces


def levels(gpu: GPU) -> tuple[Level, ...]:
    """The levels of `gpu`, nearest to the arithmetic first."""
    found = [
        Level(
            "registers",
            "registers",
            gpu.regfile_sm,
            gpu.sms,
            None,
            True,
            "hold the numbers being computed; each thread sees its own only",
        ),
        Level(
            "shared",
            "shared memory",
            gpu.smem_sm,
            gpu.sms,
            gpu.on_chip_bandwidth,
            True,
            "the SRAM a program can fill as it likes; a block sees its own multiprocessor's only",
        ),
        Level("l2", "L2 cache", gpu.l2, 1, None, True, "shared by the whole chip; fills itself"),
    ]
    if gpu.last_level:
        found.append(
            Level("last", "last-level cache", gpu.last_level, 1, None, True, "behind L2, in front of memory")
        )
    found += [
        Level(
            "memory",
            f"device memory ({gpu.memory_kind})",
            gpu.memory,
            1,
            gpu.bandwidth,
            False,
            "beside the chip: large, and what every trip on this page goes to",
        ),
        Level(
            "host",
            "host memory",
            None,
            1,
            gpu.host_link,
            False,
            "the computer around the GPU, over PCIe, one direction",
        ),
    ]
    return tuple(found)
