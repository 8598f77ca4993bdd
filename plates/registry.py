"""The plates in reading order. A new plate is one import and one entry."""

from plates.plate import Plate
from plates.softmax import Softmax
from plates.traffic import Traffic

PLATES: list[type[Plate]] = [Traffic, Softmax]
