"""Predict, then reveal: what the cards ask, the values a reader can guess, and the curve that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from zlib import crc32

import numpy as np

from plates import text, typography
from plates.figures import log_ticks, round_text
from plates.quiz_questions import inline
from workshop import predictions, sram, units
from workshop.hardware import GPU
from workshop.problem import LIMITS, Problem, Tile

CARDS = ("crossover", "block", "speedup")
_CLOSE = 1.5  # a guess within this factor counts as close
_LENGTHS = [1 << k for k in range(21)]
_BLOCKS = [1, 2, 4, *range(8, 129, 8), *range(144, 257, 16), *range(288, 1025, 32)]


def verdict(guess: float | None, answer: float | None, words: dict[str, str]) -> str:
    """What to say of a guess; None stands for "never"."""
    if guess is None or answer is None:
        if guess is answer:
            return words["guess_right_never"]
        return words["guess_wrong_never" if answer is None else "guess_never"]
    off = max(guess, answer) / min(guess, answer)
    if off == 1:
        return words["guess_right"]
    name = "close" if off <= _CLOSE else "low" if guess < answer else "high"
    return words[f"guess_{name}"].format(off=units.ratio(off))


def _axis(
    low: float, high: float, label: str, shown: Callable[[float], str], base: int = 10, most: int = 6
) -> dict:
    ticks = [{"v": v, "text": round_text(shown)(v)} for v in log_ticks(low, high, base, most)]
    return {"low": low, "high": high, "label": label, "ticks": ticks}


def _points(x: Iterable[float], y: Iterable[float]) -> list[list[float]]:
    return [[float(a), float(b)] for a, b in zip(x, y, strict=True)]


def _room(values: np.ndarray) -> tuple[float, float]:
    """A log range around positive values, with room for labels above and below."""
    low, high = float(values.min()), float(values.max())
    spread = max(high / low, 4.0)
    return low / spread**0.12, high * spread**0.2


def _options(values: Iterable[float | None], answer: float | None, shown, words) -> list[dict]:
    return [
        {
            "value": None if value is None else float(value),
            "text": words["never"] if value is None else shown(value),
            "verdict": verdict(value, answer, words),
        }
        for value in values
    ]


def _answer(x: float, y: float, shown: str, words: dict) -> dict:
    return {"x": float(x), "y": float(y), "text": words["answer"].format(text=shown)}


def _crossover(problem: Problem, tile: Tile, gpu: GPU, words: dict) -> dict:
    found = predictions.crossover(problem, tile, gpu)
    ridge = gpu.ridge(problem.dtype)
    curves = {
        model: predictions.intensity_curve(model, problem, tile, gpu) for model in ("standard", "bound")
    }
    low, high = _room(np.concatenate([*(curve.y for curve in curves.values()), [ridge]]))
    return {
        "guesses": "x",
        "options": _options([*_LENGTHS, None], found, units.count, words),
        "x": _axis(*LIMITS["N"], words["axis_N"], units.count, base=2, most=4),
        "y": _axis(low, high, words["axis_intensity"], units.intensity),
        "curves": [
            {"name": words[name], "role": role, "points": _points(curves[model].x, curves[model].y)}
            for model, role, name in (("standard", "standard", "standard"), ("bound", "flash", "bound"))
        ],
        "level": {"y": ridge, "text": words["ridge"].format(value=units.intensity(ridge))},
        "answer": None
        if found is None
        else _answer(
            found,
            predictions.intensity("bound", problem, tile, gpu, found),
            f"N = {units.count(found)}",
            words,
        ),
        "facts": {
            "found": "" if found is None else units.count(found),
            "never": found is None,
            "ridge": units.intensity(ridge),
            "most": units.intensity(float(curves["bound"].y.max())),
            "standard": units.intensity(float(curves["standard"].y.max())),
        },
    }


def _block(problem: Problem, tile: Tile, gpu: GPU, words: dict) -> dict:
    curve = predictions.block_curve(problem, tile, gpu)
    best = predictions.best_Br(problem, tile, gpu)
    least = int(curve.y.min())
    fits = sram.landscape(problem, tile.sram, curve.x, [tile.Bc], gpu)["fits"][:, 0]
    largest = int(curve.x[fits].max()) if fits.any() else 0
    low, high = _room(curve.y.astype(float))
    keep = np.unique(np.concatenate([np.geomspace(1, 1024, 160).round().astype(int), [best, best + 1, 1024]]))
    keep = keep[keep <= curve.x[-1]]
    return {
        "guesses": "x",
        "options": _options(_BLOCKS, best, units.count, words),
        "x": _axis(*LIMITS["Br"], words["axis_Br"], units.count, base=2, most=4),
        "y": _axis(low, high, words["axis_bytes"], units.bytes_),
        "curves": [
            {"name": words["with_spill"], "role": "flash", "points": _points(keep, curve.y[keep - 1])}
        ],
        "level": None,
        "answer": _answer(best, least, f"Br = {units.count(best)}", words),
        "facts": {
            "found": units.count(best),
            "least": units.bytes_(least),
            "largest": units.count(largest),
            "any_fits": largest > 0,
            "past": best > largest,
            "more": largest > best,
        },
    }


def _speedup(problem: Problem, tile: Tile, gpu: GPU, words: dict) -> dict:
    found = predictions.speedup(problem, tile, gpu)
    curve = predictions.speedup_curve(problem, tile, gpu)
    values = [
        0.25,
        0.5,
        0.75,
        1,
        1.25,
        1.5,
        2,
        2.5,
        3,
        4,
        5,
        6,
        7,
        8,
        10,
        12,
        15,
        20,
        25,
        30,
        40,
        50,
        70,
        100,
    ]
    low, high = _room(np.concatenate([curve.y, [found]]))
    return {
        "guesses": "y",
        "options": _options(values, found, units.ratio, words),
        "x": _axis(*LIMITS["N"], words["axis_N"], units.count, base=2, most=4),
        "y": _axis(low, high, words["axis_speedup"], units.ratio, base=2 if high / low < 100 else 10),
        "curves": [{"name": words["speedup"], "role": "flash", "points": _points(curve.x, curve.y)}],
        "level": {"y": 1.0, "text": words["no_gain"]} if low < 1 < high else None,
        "answer": _answer(problem.N, found, units.ratio(found), words),
        "facts": {"found": units.ratio(found), "faster": found >= 1},
    }


_MAKE = {"crossover": _crossover, "block": _block, "speedup": _speedup}


def cards(
    problem: Problem, tile: Tile, gpu: GPU, lang: str, common: dict, name: Callable[[str], str | None]
) -> list[dict]:
    """Return the cards for the browser: question, guesses with a verdict each, axes, curves, explanation.

    ``common`` holds facts that the prose may name; ``name`` gives a plate's name by slug, None if there is none.
    """
    words = text.labels("predict", lang)
    sections = text.sections("predict", lang)
    plates = {"crossover": "roofline", "block": "tiles", "speedup": "roofline"}
    found = []
    for slug in CARDS:
        card = _MAKE[slug](problem, tile, gpu, words)
        facts = {**common, **card.pop("facts")}
        question = inline(typography.singular(text.fill(sections[slug], facts), lang))
        why = inline(typography.singular(text.fill(sections[f"{slug}_after"], facts), lang))
        link = name(plates[slug])
        found.append(
            {
                "slug": slug,
                "title": words[f"title_{slug}"],
                "html": question,
                "why": why,
                "link": {"href": f"?plate={plates[slug]}", "name": link} if link else None,
                "sign": crc32(repr((question, why, card["answer"])).encode()),
                **card,
            }
        )
    return found
