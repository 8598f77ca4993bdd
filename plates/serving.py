"""Plate `serving`: one query against a long cache, what the cache weighs, and how to keep a whole GPU busy with it."""

from __future__ import annotations

import math

import panel as pn
import param

from plates import controls, serving_tables, text
from plates.blocks import Blocks
from plates.drawn import sent
from plates.plate import Plate
from plates.serving_figures import Intensities, StepBytes
from plates.split_view import CHECKED, SplitView, merge_error, play
from workshop import kv_cache, roofline, split_kv, units
from workshop.language_models import LANGUAGE_MODELS, LanguageModel
from workshop.problem import Problem
from workshop.units import DTYPE_BYTES

_SMALL = 0.05  # of the cache: what partial results may take and still be called small
_SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256]


class Served(param.Parameterized):
    """Which model is served, on how many GPUs, and in how many pieces its cache is read."""

    model = param.Selector(default="llama-2-7b", objects=list(LANGUAGE_MODELS), doc="Language model.")
    gpus = param.Integer(1, bounds=(1, 8), doc="GPUs that share weights and caches.")
    splits = param.Integer(8, bounds=(1, 256), doc="Pieces of a cache, computed apart and merged.")


class Serving(Plate):
    """Decoding: the cache of keys and values, and split-K,V attention over it."""

    slug = "serving"
    name = "Serving"
    uses = frozenset({"N", "B", "Br", "Bc", "sram", "dtype", "gpu"})
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
            "outweigh": words["outweigh_never" if math.isinf(cross) else "outweigh"].format(
                cross="" if math.isinf(cross) else units.count(max(1, round(cross))),
                window=units.count(model.window or 0),
            ),
            "window": words["window"].format(model=model.name, window=units.count(model.window))
            if model.window
            else "",
            "splits": own.splits,
            "checked": units.count(checked),
            "error": text.inline_readout("merge-error", error, units.number(error, 2)),
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
        values = {
            "layers": model.layers,
            "kv_heads": model.kv_heads,
            "d": model.d,
            "N": model.cached(s.N),
            "b": size,
        }
        cache, cost = kv_cache.CACHE, kv_cache.INTENSITY
        facts["blocks"] = Blocks(
            lambda: {
                "fits": serving_tables.fits(own.model, s, gpu, own.gpus, words),
                "cache_formula": self.law(
                    cache, cache.with_values(**values), words["formula_cache"], "flash"
                ),
                "intensity_formula": self.law(
                    cost, cost.with_values(group=model.group, b=size), words["formula_intensity"], "over"
                ),
                "window": f'<p class="note">{facts["window"]}</p>' if facts["window"] else "",
                "sms": serving_tables.sms(now, words),
                "occupancy": serving_tables.occupancy(model, s.B, gpu, own.gpus, (own.splits, fewest), words),
                "models": serving_tables.models(own.model, s, words, self.said),
            }
        )
        return facts

    def _prompt(self, model: LanguageModel) -> Problem:
        """Attention of one layer while the prompt is read: N queries at once, causal."""
        s = self.settings
        return Problem(N=s.N, d=model.d, H=model.heads, B=s.B, dtype=s.dtype, causal=True)

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, _, fit, step, intensity, _, _, _, words = facts["_"]
        s = self.settings
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
                "hbm",
            ),
            text.Readout(
                "decode-time", step.seconds, facts["step"], words["readout_step"].format(**facts), "hbm"
            ),
            text.Readout("decode-rate", s.B / step.seconds, facts["rate"], words["readout_rate"]),
        ]

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
        yield self.block("window")
        yield self.block("models")
        yield self.prose("why")
        self._intensities = Intensities(self.themed, words)
        yield self.figure(
            self._intensities.fig, "intensity_figure", "model", description="intensity_description"
        )
        yield self.block("intensity_formula")
        yield self.prose("read")
        self._bytes = StepBytes(self.themed, words)
        yield self.figure(self._bytes.fig, "step_figure", "model", description="step_description")
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

    def patch(self, facts: dict) -> None:
        model, _, _, step, intensity, ridge, _, _, words = facts["_"]
        self._intensities.patch(intensity, ridge, words)
        self._bytes.patch(model, self.settings, step)
        self._split.play = sent(play(self.local.splits))
