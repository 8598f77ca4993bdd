"""The quiz and the predictions: both run in the browser, so that no answer waits for the server."""

from __future__ import annotations

from typing import ClassVar

import param

from plates.drawn import Drawn, Picture
from plates.text import STATIC, static


class Quiz(Drawn):
    """One question at a time, by level. What was answered is kept by the browser while its window is open."""

    questions = Picture("[]", doc="As made by quiz_questions.shown.")
    words = param.Dict(doc="Labels, by the names that the script uses.")

    _esm = STATIC / "quiz" / "quiz.js"
    _stylesheets: ClassVar[list[str]] = [static("quiz/common.css"), static("quiz/quiz.css")]


class Predict(Drawn):
    """Cards that ask for a guess and then draw the model's curve with the guess marked on it."""

    cards = Picture("[]", doc="As made by predict_cards.cards.")
    words = param.Dict(doc="Labels, by the names that the script uses.")

    _esm = STATIC / "quiz" / "predict.js"
    _stylesheets: ClassVar[list[str]] = [
        static("range.css"),
        static("quiz/common.css"),
        static("quiz/predict.css"),
    ]
