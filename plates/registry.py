"""The plates in reading order. A new plate is one import and one entry."""

from plates.machine import Machine
from plates.memory import Memory
from plates.plate import Plate
from plates.review import Review
from plates.roofline import Roofline
from plates.serving import Serving
from plates.softmax import Softmax
from plates.sparsity import Sparsity
from plates.tiles import Tiles
from plates.traffic import Traffic
from plates.wall import Wall

PLATES: list[type[Plate]] = [
    Wall,
    Traffic,
    Roofline,
    Tiles,
    Softmax,
    Memory,
    Sparsity,
    Serving,
    Machine,
    Review,
]
