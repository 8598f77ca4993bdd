"""Plate `serving`: one query against a long cache, what the cache weighs, and how to keep a whole GPU busy with it."""

from __future__ import annotations

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource, Span

from plates import controls, figures, text
from plates.plate import Plate
from plates.split_view import CHECKED, SplitView, merge_error, play
from workshop import kv_cache, roofline, split_kv, units
from workshop.language_models import LANGUAGE_MODELS, LanguageModel
from workshop.problem import LIMITS, Problem
from workshop.units import DTYPE_BYTES

_FIRST, _LAST = 64, LIMITS["N"][1]
_LINES = {"weights": "ink", "cache": "flash", "scores": "standard"}
_SOLID = 60  # so many conversations in a bar run together
_SMALL = 0.05  # of the cache: what partial results may take and still be called small
_SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]
_INTENSITY = {"decode": "over", "weights": "ink", "prompt": "flash"}


class Served(param.Parameterized):
    """Which model is served, on how many GPUs, and in how many pieces its cache is read."""

    model = param.Selector(default="llama-2-7b", objects=list(LANGUAGE_MODELS), doc="Language model.")
    gpus = param.Integer(1, bounds=(1, 8), doc="GPUs that share weights and caches.")
    splits = param.Integer(8, bounds=(1, 256), doc="Pieces of a cache, computed apart and merged.")


class Serving(Plate):
    """Decoding: the cache of keys and values, and split-K,V attention over it."""

    slug = "serving"
    name = "Serving"
    uses = frozenset({"N", "B", "Br", "Bc", "sram", "dtype", "gpu", "bandwidth", "tflops"})
    controls = frozenset({"N", "B", "dtype", "gpu"})
    scope = (
        "Decoding, one new token for each of B conversations of N tokens; a whole model where bytes and times "
        "are named. Times are lower bounds."
    )
    minutes = (4, 0)
    local_keys = ("model", "gpus", "splits")

    def own_state(self) -> Served:
        return Served()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        s, own, words = self.settings, self.local, text.labels(self.slug, self.settings.lang)
        model, gpu = LANGUAGE_MODELS[own.model], s.gpu_record
        size = DTYPE_BYTES[s.dtype]
        fit = kv_cache.fit(model, s.N, s.dtype, gpu, own.gpus)
        step = kv_cache.step(model, s.N, s.B, s.dtype, gpu, own.gpus)
        intensity = {
            "decode": step.attention_intensity,
            "weights": step.matrix_intensity,
            "prompt": roofline.time("tiled", self._prompt(model), s.tile, gpu).intensity,
        }
        ridge = gpu.ridge(s.dtype)
        cache_layer = kv_cache.cache_bytes(model, s.N, s.dtype) // model.layers
        checked = min(s.N, CHECKED)
        error = merge_error(checked, model.d, own.splits)
        alone = split_kv.occupancy(s.B, model.kv_heads, 1, gpu.sms, own.gpus)
        now = split_kv.occupancy(s.B, model.kv_heads, own.splits, gpu.sms, own.gpus)
        fewest = split_kv.fewest_splits(s.B, model.kv_heads, gpu.sms, own.gpus)
        partial = model.layers * s.B * split_kv.partial_bytes(model.heads, model.d, own.splits)
        cross = kv_cache.crossover(model, s.B)
        facts = {
            "N": units.count(s.N),
            "B": units.count(s.B),
            "conversation": words["one_talk" if s.B == 1 else "many_talks"].format(B=units.count(s.B)),
            "dtype": s.dtype,
            "gpu": gpu.name,
            "gpus": words["one_gpu" if own.gpus == 1 else "many_gpus"].format(n=own.gpus, gpu=gpu.name),
            "model": model.name,
            "kind": words[f"kind_{model.kind}"],
            "layers": model.layers,
            "heads": model.heads,
            "kv_heads": model.kv_heads,
            "group": model.group,
            "sharing": words["sharing_one" if model.group == 1 else "sharing_many"].format(group=model.group),
            "token": units.bytes_(kv_cache.token_bytes(model, s.dtype)),
            "cache": units.bytes_(fit.conversation),
            "cache_layer": units.bytes_(cache_layer),
            "score_row": units.bytes_(kv_cache.score_bytes(model, s.N, s.dtype)),
            "score_prompt": units.bytes_(kv_cache.score_bytes(model, s.N, s.dtype, queries=s.N)),
            "cache_over_scores": units.ratio(cache_layer / kv_cache.score_bytes(model, s.N, s.dtype)),
            "weights": units.bytes_(fit.weights),
            "memory": units.bytes_(gpu.memory * own.gpus),
            "usable": units.percent(kv_cache.USABLE),
            "conversations": units.count(fit.conversations),
            "intensity": units.intensity(intensity["decode"]),
            "matrix_intensity": units.intensity(intensity["weights"]),
            "ridge": units.intensity(ridge),
            "short": units.ratio(ridge / intensity["decode"]),
            "busy_share": units.percent(min(1.0, intensity["decode"] / ridge)),
            "step": units.seconds(step.seconds),
            "attention": units.seconds(step.attention_s),
            "rate": units.number(s.B / step.seconds),
            "cross": units.count(max(1, round(cross))),
            "splits": own.splits,
            "checked": units.count(checked),
            "error": units.number(error, 2),
            "sms": gpu.sms,
            "each": "" if own.gpus == 1 else f" {words['each_gpu']}",
            "work": units.count(alone.work),
            "busy": alone.busy,
            "idle": units.percent(1 - alone.share),
            "work_now": units.count(now.work),
            "busy_now": now.busy,
            "fewest": fewest,
            "price": words["price_small" if partial < _SMALL * step.cache else "price_large"],
            "partial": units.bytes_(partial),
            "partial_share": units.percent(partial / step.cache),
            "_": (model, gpu, fit, step, intensity, ridge, error, now, words),
        }
        facts["description"] = words["description"].format(**facts)
        facts["step_description"] = words["step_description"].format(**facts)
        facts["intensity_description"] = words["intensity_description"].format(**facts)
        facts["split_description"] = words["split_description"].format(**facts)
        values = {"layers": model.layers, "kv_heads": model.kv_heads, "d": model.d, "N": s.N, "b": size}
        cache, cost = kv_cache.CACHE, kv_cache.INTENSITY
        facts["blocks"] = {
            "fits": self._fits(gpu, words),
            "cache_formula": self.law(cache, cache.with_values(**values), words["formula_cache"], "flash"),
            "intensity_formula": self.law(
                cost, cost.with_values(group=model.group, b=size), words["formula_intensity"], "over"
            ),
            "sms": self._sms(now, words),
            "occupancy": self._occupancy(model, gpu, fewest, words),
            "models": self._models(words),
        }
        return facts

    def _prompt(self, model: LanguageModel) -> Problem:
        """Attention of one layer while the prompt is read: N queries at once, causal."""
        s = self.settings
        return Problem(N=s.N, d=model.d, H=model.heads, B=s.B, dtype=s.dtype, causal=True)

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, _, fit, step, intensity, _, error, _, words = facts["_"]
        return [
            text.Readout(
                "kv-cache-bytes",
                fit.conversation,
                facts["cache"],
                words["readout_cache"].format(**facts),
                "flash",
            ),
            text.Readout(
                "conversations",
                fit.conversations,
                facts["conversations"],
                words["readout_fit"].format(**facts),
            ),
            text.Readout(
                "decode-intensity",
                intensity["decode"],
                facts["intensity"],
                words["readout_intensity"].format(**facts),
                "over",
            ),
            text.Readout(
                "decode-time", step.seconds, facts["step"], words["readout_step"].format(**facts), "hbm"
            ),
            text.Readout(
                "merge-error", error, facts["error"], words["readout_error"].format(**facts), "chip"
            ),
        ]

    def _fits(self, gpu, words: dict) -> str:
        """Memory of the chosen GPUs, one bar a model: weights, then conversations."""
        s, own = self.settings, self.local
        whole = gpu.memory * own.gpus
        rows = []
        for slug, model in LANGUAGE_MODELS.items():
            fit = kv_cache.fit(model, s.N, s.dtype, gpu, own.gpus)
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
                many = f'<b class="no">{words["fit_none"]}</b><small>{words["fit_needs"].format(n=needed)}</small>'
            who = words["fit_model"].format(
                kind=words[f"kind_{model.kind}"], token=units.bytes_(kv_cache.token_bytes(model, s.dtype))
            )
            chosen = " chosen" if slug == own.model else ""
            rows.append(
                f'<div class="fit{chosen}"><div class="who">{model.name}<small>{who}</small></div>'
                f'<div class="bar">{bar}</div><div class="many">{many}</div></div>'
            )
        keys = "".join(
            f'<span><i class="{name}"></i>{words[f"legend_{name}"]}</span>'
            for name in ("weights", "talks", "reserved")
        )
        return f'<div class="legend">{keys}</div><div class="fits">{"".join(rows)}</div>'

    @staticmethod
    def _sms(now: split_kv.Occupancy, words: dict) -> str:
        squares = '<i class="busy"></i>' * now.busy + "<i></i>" * (now.sms - now.busy)
        said = words["sms"].format(busy=now.busy, sms=now.sms)
        return f'<div class="sms" role="img" aria-label="{said}">{squares}</div>'

    def _occupancy(self, model, gpu, fewest: int, words: dict) -> str:
        s, own = self.settings, self.local
        rows = []
        for parts in sorted({1, own.splits, fewest}):
            found = split_kv.occupancy(s.B, model.kv_heads, parts, gpu.sms, own.gpus)
            moved = model.layers * s.B * split_kv.partial_bytes(model.heads, model.d, parts)
            cells = [
                units.count(parts),
                units.count(found.work),
                f"{found.busy} / {found.sms}",
                units.count(found.waves),
                units.percent(found.share),
                units.bytes_(moved),
            ]
            rows.append([f"<b>{cell}</b>" if parts == own.splits else cell for cell in cells])
        return text.table([(words[f"sms_{i}"], True) for i in range(1, 7)], rows)

    def _models(self, words: dict) -> str:
        s = self.settings
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
                units.count(model.context),
                self.said(model.source),
            ]
            rows.append(
                [f"<b>{cell}</b>" if slug == self.local.model else cell for cell in cells[:-1]] + cells[-1:]
            )
        columns = [(words["model_1"], False), *((words[f"model_{i}"], True) for i in range(2, 9))]
        return (
            f"<details><summary>{words['models']}</summary>"
            + text.table([*columns, (words["model_9"], False)], rows)
            + "</details>"
        )

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        names = {f"{m.name} · {words[f'kind_{m.kind}']}": slug for slug, m in LANGUAGE_MODELS.items()}
        gpus = self._number("gpus", words, [1, 2, 4, 8])
        yield pn.FlexBox(
            controls.choice(self.local, "model", words["control_model"], names, width=300),
            gpus,
            gap="0 28px",
            align_items="center",
        )
        fits = self.block("fits")
        fits.stylesheets = [*fits.stylesheets, text.static("serving.css")]
        yield self.figure(fits, "figure", "model", description="description")
        yield self.block("cache_formula")
        yield self.block("models")
        yield self.prose("why")
        yield self.figure(
            self._intensities(words), "intensity_figure", "model", description="intensity_description"
        )
        yield self.block("intensity_formula")
        yield self.prose("read")
        yield self.figure(self._bytes(words), "step_figure", "model", description="step_description")
        yield self.prose("split")
        yield self._number("splits", words, _SPLITS)
        self._split = SplitView(words=words, sizing_mode="stretch_width", margin=0)
        yield self.figure(self._split, "split_figure", "computed", description="split_description")
        yield self.prose("fill")
        sms = self.block("sms")
        sms.stylesheets = [*sms.stylesheets, text.static("serving.css")]
        yield self.figure(sms, "sms_figure", "model", description="split_description")
        yield self.block("occupancy")

    def _number(self, name: str, words: dict, values: list[int]) -> pn.Column:
        symbol, _, meaning = words[f"control_{name}"].partition("|")
        return pn.Column(
            controls.NumberControl(self.local, name, symbol, meaning, values, self.settings.lang),
            width=300,
            margin=(0, 18, 0, 0),
        )

    def _intensities(self, words: dict):
        """A line of FLOP/B with the ridge on it."""
        self._intensity_fig = fig = figures.chart(
            self.themed,
            x=(0.1, 1e5),
            y=(-0.55, 2.75),
            x_label=words["intensity_axis"],
            x_log=True,
            height=230,
            min_border_right=34,
        )
        fig.yaxis.visible = False
        fig.ygrid.visible = False
        self._dots, self._dot_labels = {}, {}
        self._ridge = Span(location=1, dimension="height", line_width=2, line_dash=[6, 4])
        self.themed.colour(self._ridge, line_color="ink")
        fig.add_layout(self._ridge)
        self._ridge_label = figures.label(
            self.themed, fig, "", "ink", y=-0.5, x_offset=8, text_font_size="14px"
        )
        for at, (name, role) in enumerate(_INTENSITY.items()):
            y = 2 - at
            source = ColumnDataSource({"x": [1.0], "y": [y], "zero": [0.1]})
            stem = fig.segment("zero", "y", "x", "y", source=source, line_width=3)
            dot = fig.scatter("x", "y", source=source, size=14, line_width=0)
            self.themed.colour(stem.glyph, line_color=role)
            self.themed.colour(dot.glyph, fill_color=role)
            self._dots[name] = source
            self._dot_labels[name] = figures.label(
                self.themed, fig, "", role, x=0.1, y=y + 0.16, x_offset=4, text_font_size="14px", bold=True
            )
        return fig

    def _bytes(self, words: dict):
        """What one step reads against the length of the conversations."""
        fig = figures.chart(
            self.themed,
            x=(_FIRST, _LAST),
            y=(1e6, 1e13),
            x_label=words["step_axis"],
            x_log=True,
            y_log=True,
            height=360,
        )
        figures.ticks(fig.xaxis[0], [64, 1024, 16384, 262144], units.count)
        figures.label_zone(fig, _LAST, 130)
        self._lines, self._line_labels = {}, {}
        for name, role in _LINES.items():
            source = ColumnDataSource({"N": [], "bytes": [], "text": []})
            dash = [4, 4] if name == "scores" else "solid"
            line = fig.line(
                "N", "bytes", source=source, line_width=3, line_dash=dash, name=words[f"line_{name}"]
            )
            self.themed.colour(line.glyph, line_color=role)
            self._lines[name] = source
            self._line_labels[name] = figures.label(
                self.themed,
                fig,
                words[f"line_{name}"],
                role,
                x=_LAST,
                x_offset=8,
                text_baseline="middle",
                bold=True,
            )
        self._now = fig.scatter([], [], size=12, line_width=0)
        self.themed.colour(self._now.glyph, fill_color="flash")
        figures.hover(
            fig,
            fig.renderers[:-1],
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>N = @N<br>@text</div>',
            line_policy="nearest",
        )
        self._bytes_fig = fig
        return fig

    def patch(self, facts: dict) -> None:
        s = self.settings
        model, _, _, step, intensity, ridge, _, _, words = facts["_"]
        every = [ridge, *intensity.values()]
        low, high = min(0.1, min(every) / 2), max(1e4, max(every) * 3)
        axis = self._intensity_fig
        axis.x_range.start, axis.x_range.end = low, high
        figures.ticks(axis.xaxis[0], figures.log_ticks(low, high), figures.round_text(units.number))
        for name, value in intensity.items():
            self._dots[name].data = {"x": [value], "y": self._dots[name].data["y"], "zero": [low]}
            self._dot_labels[name].update(
                x=low, text=words.pair(words[f"intensity_{name}"], units.intensity(value))
            )
        self._ridge.location = ridge
        right = ridge**2 < low * high**1.4
        self._ridge_label.update(
            x=ridge,
            text=words["ridge"].format(ridge=units.intensity(ridge)),
            text_align="left" if right else "right",
            x_offset=8 if right else -8,
        )
        first = min(_FIRST, s.N)
        n = np.unique(np.geomspace(first, _LAST, 80).round().astype(np.int64))
        values = {
            "weights": np.full(len(n), float(step.weights)),
            "cache": np.array([s.B * kv_cache.cache_bytes(model, int(v), s.dtype) for v in n], dtype=float),
            "scores": np.array(
                [s.B * model.layers * kv_cache.score_bytes(model, int(v), s.dtype) for v in n], dtype=float
            ),
        }
        low = min(v.min() for v in values.values()) / 2
        high = max(v.max() for v in values.values()) * 2
        for name, y in values.items():
            self._lines[name].data = {"N": n, "bytes": y, "text": [units.bytes_(v) for v in y]}
        fig = self._bytes_fig
        fig.x_range.start, fig.y_range.start, fig.y_range.end = first, low, high
        figures.ticks(fig.yaxis[0], figures.log_ticks(low, high), figures.round_text(units.bytes_))
        gap = 20 * np.log10(high / low) / 290
        placed = figures.spread([np.log10(v[-1]) for v in values.values()], gap)
        for name, y in zip(values, placed, strict=True):
            self._line_labels[name].y = 10**y
        self._now.data_source.data = {"x": [s.N], "y": [step.cache]}
        self._split.play = play(self.local.splits)
