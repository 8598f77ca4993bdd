"""Finds English in a page that is in another language: sentences, not symbols, units, names and titles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

import panel as pn
from bokeh.model import Model
from bokeh.models import Axis

from plates.drawn import Picture

# what stays in its original language: titles of works and documents, and names of more than one word
TITLES = (
    "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
    "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning",
    "FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision",
    "FlashAttention-4: Algorithm and Kernel Pipelining Co-Design for Asymmetric Hardware Scaling",
    "Online normalizer calculation for softmax",
    "Self-attention Does Not Need O(n²) Memory",
    "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
    "Attention Is All You Need",
    "Flash-Decoding for long-context inference",
    "Training Deep Nets with Sublinear Memory Cost",
    "Generating Long Sequences with Sparse Transformers",
    "Efficient Transformers: A Survey",
    "Fast Transformer Decoding: One Write-Head is All You Need",
    "Efficiently Scaling Transformer Inference",
    "Efficient Memory Management for Large Language Model Serving with PagedAttention",
    "Gemma: Open Models Based on Gemini Research and Technology",
    "Gemma 3 Technical Report",
    "Qwen2.5 Technical Report",
    "The Falcon Series of Open Language Models",
    "The Llama 3 Herd of Models",
    "Native Sparse Attention",
    "Advances in Neural Information Processing Systems",
    "Communications of the ACM",
    "International Conference on Learning Representations",
    "CUDA C++ Programming Guide",
    "CUDA C++ Best Practices Guide",
    "Tensor Core GPU Architecture",
    "Tensor Core GPU",
    "Ada GPU Architecture",
    "Hopper Tuning Guide",
    "Blackwell Tuning Guide",
    "DGX B200 and HGX B200",
    "Long Range Arena",
    "et al.",
)
# a word that a sentence is held together by; single letters are symbols
_JOINTS = (
    "the of and or is are was were in into to for not with at on by it its that this these from than be been has have "
    "so no as one every each which when where what who how only more most less least between before after does do can "
    "would will here there yours your you we our they their all any same other but if out over up down per"
).split()
_EITHER = "|".join((*_JOINTS, *(word.capitalize() for word in _JOINTS)))
_JOINT = re.compile(rf"(?<![\w./=?&-])(?:{_EITHER})(?![\w/=-]|\.\w)")
_CODE = re.compile(r"\bfor [ij]:|\{\w+\}")  # of a program, and fields of a text that the browser fills
_RUN = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,;:]+[A-Za-z][A-Za-z'’-]+){3,}")
_TITLES = sorted(TITLES, key=len, reverse=True)
_PEOPLE = re.compile(
    r"(?:[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*)*, )+"
)  # "Dao, Fu, Ermon, "; "Tri Dao, Daniel Y. Fu, "


def stray(text: str) -> list[str]:
    """Return what is English in ``text``: words that join a sentence, and runs of four words or more."""
    for title in _TITLES:
        text = text.replace(title, " ")
    text = _CODE.sub(" ", _PEOPLE.sub("", text))
    return [
        text[max(0, m.start() - 40) : m.end() + 40] for found in (_JOINT, _RUN) for m in found.finditer(text)
    ]


class _Reader(HTMLParser):
    """Collects what a reader sees or hears of a piece of HTML, one text for each block."""

    SPOKEN = ("title", "aria-label", "alt", "placeholder", "aria-description")
    INLINE = ("a", "b", "em", "i", "small", "span", "strong", "sub", "sup")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = [""]
        self._skip: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.texts[:0] = [value for name, value in attrs if name in self.SPOKEN and value]
        if tag in ("code", "style", "script"):
            self._skip.append(tag)
        if tag not in self.INLINE:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._skip and self._skip[-1] == tag:
            self._skip.pop()
        if tag not in self.INLINE:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.texts[-1] += data


def read(html: str) -> list[str]:
    """Return the texts of HTML: what is visible, tooltips, labels for screen readers; not what is set as code."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return [" ".join(text.split()) for text in reader.texts if text.strip()]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _NO_WORDS:
                yield from _strings(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _strings(item)


# of a model of a figure, what is written on it; and of a widget or picture, what is not text
_WRITTEN = (
    "text",
    "axis_label",
    "title",
    "label",
    "value",
    "major_label_overrides",
    "tooltips",
    "data",
    "labels",
)
_NO_WORDS = {
    "plain",
    "key",
    "right",
    "slug",
}  # what a glossary is searched in, and names that the browser uses
_NO_TEXT = {"name", "sx", "stylesheets", "css_classes", "design", "styles", "theme_config"}


def _of_figure(figure: Model) -> Iterator[str]:
    for model in figure.references():
        if isinstance(model, Axis):
            yield from model.tags  # the texts of its ticks
        for name in _WRITTEN:
            if name in model.properties():
                found = getattr(model, name)
                values = found.values() if name == "data" and isinstance(found, dict) else [found]
                for value in values:
                    yield from _strings(value.tolist() if hasattr(value, "tolist") else value)


def _said(item: pn.viewable.Viewable, name: str, value: object) -> object:
    """What a parameter of a view says, as strings, lists and dicts."""
    if isinstance(item.param[name], Picture):
        return json.loads(value)
    return list(value) if name == "options" else value


def of_view(views: Iterable[pn.viewable.Viewable]) -> set[str]:
    """Return every text that the Panel objects below ``views`` show."""
    found: set[str] = set()
    for view in views:
        for item in view.select():
            if isinstance(item, pn.pane.HTML):
                texts = [item.object]
            elif isinstance(item, pn.pane.Bokeh):
                texts = list(_of_figure(item.object))
            else:
                texts = [
                    text
                    for name, value in item.param.values().items()
                    if name not in _NO_TEXT and not name.startswith("_")
                    for text in _strings(_said(item, name, value))
                ]
            for text in texts:
                found.update(read(text) if "<" in text else [text])
    return found
