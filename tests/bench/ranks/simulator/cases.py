"""Cases without a trace: programs whose work per index is known, for estimates before they run on ranks."""
from dataclasses import dataclass

from .replay import Setting
from .trace import Event, Trace


@dataclass(frozen=True)
class Case:
    name: str
    trace: Trace
    weak: bool = False
    reduction: str = "gathered"

    def setting(self, network, noise):
        return Setting(network, noise, share="always", weak=self.weak, reduction=self.reduction)


def loop(kind, work, chunks, size, replicated=0.0):
    """One step: a parallel loop of so many seconds."""
    event = Event(kind, 0, work * 3e9, chunks, size, replicated, work, work, 0.0, 0.0)
    return Trace(events=[event])


IMAGE = 13e-6
"""Seconds of training for an image of the network for digits, on one core."""

GRADIENTS = 15_600
"""Bytes of its gradients, once per chunk."""

CELL = 0.6e-9
"""Seconds of a cell of a 5-point stencil on one core, from memory."""

PRODUCT = 16384
FLOPS = 50e9
"""Of one core, in a product of matrices of `float`."""

ALL = [
    Case(
        "training, 64 images per rank, 16 chunks; gradients gathered",
        loop("partials", 64 * IMAGE, 16, 16 * GRADIENTS), weak=True,
    ),
    Case(
        "training, 64 images per rank; gradients combined in a tree",
        loop("partials", 64 * IMAGE, 16, 16 * GRADIENTS), weak=True, reduction="tree",
    ),
    Case("5-point stencil of 4096 x 4096 doubles, all rows gathered", loop("gather", 4096**2 * CELL, 4096, 4096**2 * 8)),
    # Boundaries lie on a grid of 1024 blocks.
    Case("the same, rows stay with their ranks", loop("interval", 4096**2 * CELL, 1024, 4096 * 8)),
    Case(
        "product of 16384 x 16384 floats, rows of the result gathered",
        loop("gather", 2 * PRODUCT**3 / FLOPS, PRODUCT, PRODUCT**2 * 4),
    ),
]
