"""The memory levels of a GPU, against the sheets they come from."""

import pytest

from workshop import hierarchy
from workshop.hardware import GPUS, KIB, MIB, custom


def by_slug(gpu):
    return {level.slug: level for level in hierarchy.levels(gpu)}


def test_h100_by_hand():
    found = by_slug(GPUS["h100-sxm"])
    assert list(found) == ["registers", "shared", "l2", "memory", "host"]
    assert (found["registers"].each, found["registers"].pieces) == (256 * KIB, 132)
    assert found["shared"].total == 132 * 228 * KIB == 30_818_304
    assert found["registers"].total > found["shared"].total  # no pyramid at the top
    assert (found["memory"].total, found["memory"].bandwidth) == (80_000_000_000, 3.35e12)
    assert found["host"].total is None


def test_the_19_terabytes_a_second_are_the_whole_a100():
    level = by_slug(GPUS["a100-sxm-40"])["shared"]
    assert level.bandwidth == 19e12 and level.pieces == 108
    assert level.total == pytest.approx(18.1e6, rel=0.01)  # "20 MB" in the paper: the whole chip, rounded up


def test_what_no_document_gives_stays_unknown():
    for gpu in GPUS.values():
        found = by_slug(gpu)
        assert found["registers"].bandwidth is None and found["l2"].bandwidth is None
        assert found["shared"].bandwidth == gpu.on_chip_bandwidth


def test_a_cache_behind_l2_is_a_level_of_its_own():
    assert by_slug(GPUS["mi300x"])["last"].total == 256 * MIB
    assert "last" not in by_slug(GPUS["b200"])


def test_the_chip_comes_before_what_is_off_it_and_sizes_are_positive():
    for gpu in (*GPUS.values(), custom(1e12, 1e14)):
        found = hierarchy.levels(gpu)
        assert sorted(found, key=lambda level: not level.on_chip) == list(found)
        assert all(level.total is None or level.total > 0 for level in found)
