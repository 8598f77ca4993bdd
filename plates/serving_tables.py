"""What the serving plate shows in HTML: the memory of the GPUs, filled; busy multiprocessors; tables."""

from __future__ import annotations

import math
from collections.abc import Callable

from plates import figures, text
from plates.settings import Settings
from workshop import kv_cache, split_kv, units
from workshop.hardware import GPU
from workshop.language_models import LANGUAGE_MODELS, LanguageModel

_SOLID = 60  # so many conversations in a bar run together
_TICKS = 4  # at most, beside 0


def fits(chosen_model: str, s: Settings, gpu: GPU, gpus: int, words: dict) -> str:
    """Memory of the chosen GPUs, one bar a model: weights, then conversations."""
    whole = gpu.memory * gpus
    rows = []
    for slug, model in LANGUAGE_MODELS.items():
        fit = kv_cache.fit(model, s.N, s.dtype, gpu, gpus)
        talks = fit.conversations * fit.conversation / whole
        if fit.weights_fit:
            period = f"background-size:calc(100% / {fit.conversations}) 100%"
            strips = period if 0 < fit.conversations <= _SOLID else "background-image:none"
            bar = (
                f'<i class="weights" style="width:{fit.weights / whole:.3%}"></i>'
                f'<i class="talks" style="width:{talks:.3%};{strips}"></i>'
                f'<i class="reserved" style="width:{1 - kv_cache.USABLE:.3%}"></i>'
            )
            many = f"<b>{units.count(fit.conversations)}</b><small>{words['fit_talks']}</small>"
        else:
            bar = '<i class="over"></i>'
            needed = kv_cache.gpus_for_weights(model, s.dtype, gpu)
            many = (
                f'<b class="no">{words["fit_none"]}</b><small>{words["fit_needs"].format(n=needed)}</small>'
            )
        who = words["fit_model"].format(
            kind=words[f"kind_{model.kind}"], token=units.bytes_(kv_cache.token_bytes(model, s.dtype))
        )
        chosen = " chosen" if slug == chosen_model else ""
        rows.append(
            f'<div class="fit{chosen}"><div class="who">{model.name}<small>{who}</small></div>'
            f'<div class="bar">{bar}</div><div class="many">{many}</div></div>'
        )
    keys = "".join(
        f'<span><i class="{name}"></i>{words[f"legend_{name}"]}</span>'
        for name in ("weights", "talks", "reserved")
    )
    scale = f'<div class="fit scale"><div></div><div class="ticks">{_ticks(whole)}</div></div>'
    return f'<div class="legend">{keys}</div><div class="fits">{"".join(rows)}</div>{scale}'


def _ticks(whole: int) -> str:
    """The scale under the bars: round amounts of memory, and all of it at the right end."""
    power = 10 ** math.floor(math.log10(whole / _TICKS))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= whole / _TICKS)
    round_ones = [k * step for k in range(_TICKS + 1) if k * step <= whole - step / 2]
    said = figures.round_text(units.bytes_)
    return "".join(
        f'<span style="left:{at / whole:.3%}">{said(at) if at else 0}</span>' for at in (*round_ones, whole)
    )


def columns(cells: int, least: int, most: int) -> int:
    """Return a number of columns in [least, most] whose rows are all full, the most there is; ``most`` if none."""
    return next((n for n in range(most, least - 1, -1) if cells % n == 0), most)


def sms(now: split_kv.Occupancy, words: dict) -> str:
    wide, narrow = columns(now.sms, 24, 44), columns(now.sms, 12, 29)
    squares = '<i class="busy"></i>' * now.busy + "<i></i>" * (now.sms - now.busy)
    said = words["sms"].format(busy=now.busy, sms=now.sms)
    size = f"--wide:{wide};--narrow:{narrow}"
    return f'<div class="sms" style="{size}" role="img" aria-label="{said}">{squares}</div>'


def occupancy(model: LanguageModel, B: int, gpu: GPU, gpus: int, pieces: tuple[int, int], words: dict) -> str:
    """A line for no cut, one for the chosen pieces (bold) and one for the fewest that keep the chip busy."""
    splits, fewest = pieces
    rows = []
    for parts in sorted({1, splits, fewest}):
        found = split_kv.occupancy(B, model.kv_heads, parts, gpu.sms, gpus)
        moved = model.layers * B * split_kv.partial_bytes(model.heads, model.d, parts)
        cells = [
            units.count(parts),
            units.count(found.work),
            f"{found.busy} / {found.sms}",
            units.count(found.waves),
            units.percent(found.share),
            units.bytes_(moved),
        ]
        rows.append([f"<b>{cell}</b>" if parts == splits else cell for cell in cells])
    return text.table([(words[f"sms_{i}"], True) for i in range(1, 7)], rows)


def models(chosen_model: str, s: Settings, words: dict, said: Callable[[str], str]) -> str:
    """All models, folded away. said: a sentence of the models in the reader's language."""
    rows = []
    for slug, model in LANGUAGE_MODELS.items():
        cells = [
            model.name,
            f"{model.layers}",
            f"{model.heads} / {model.kv_heads}",
            f"{model.d}",
            units.count(model.parameters),
            units.bytes_(kv_cache.weight_bytes(model, s.dtype)),
            units.bytes_(kv_cache.cache_bytes(model, s.N, s.dtype)),
            units.count(model.context) + _window(model, words),
            said(model.source),
        ]
        rows.append([f"<b>{cell}</b>" if slug == chosen_model else cell for cell in cells[:-1]] + cells[-1:])
    columns = [(words["model_1"], False), *((words[f"model_{i}"], True) for i in range(2, 9))]
    return (
        f"<details><summary>{words['models']}</summary>"
        + text.table([*columns, (words["model_9"], False)], rows)
        + "</details>"
    )


def _window(model: LanguageModel, words: dict) -> str:
    if model.window is None:
        return ""
    return f"<br><small>{words['window_short'].format(window=units.count(model.window))}</small>"
