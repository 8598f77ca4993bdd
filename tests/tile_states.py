"""What the tile map of the step-through has to show at a step."""

import numpy as np

from workshop.steps import Trace

SKIPPED, TO_COME, CURRENT, DONE = range(4)


def states(run: Trace, index: int) -> np.ndarray:
    """The state of each tile, (Tr, Tc)."""
    step, order = run.steps[index], run.visit_order
    state = np.where(order < step.done, DONE, np.where(order == step.visit, CURRENT, TO_COME))
    return np.where(order < 0, SKIPPED, state)
