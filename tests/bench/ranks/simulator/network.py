"""What moving bytes takes: LogGP for one message, the usual algorithms for collectives, and noise.

LogGP says that a message of n bytes takes L + 2o + nG: latency, overhead of sender and receiver, gap per byte. All times are
seconds, all sizes bytes.
"""
import math
from dataclasses import dataclass

RING_BYTES = 512 << 10
"""From so many bytes of result on MPI libraries gather in a ring, below by doubling."""

SCATTER_BYTES = 12 << 10
"""From so many bytes on a broadcast scatters its bytes and gathers them again."""

EULER = 0.5772156649015329


@dataclass(frozen=True)
class Network:
    name: str
    latency: float
    overhead: float
    gap: float

    def message(self, size=0):
        """From the beginning of a send to the end of its receive."""
        return self.latency + 2 * self.overhead + size * self.gap

    def allgather(self, size, ranks):
        """Every rank has its part of so many bytes; afterwards each has all."""
        if ranks < 2:
            return 0.0
        moved = size * (ranks - 1) / ranks
        steps = ranks - 1 if size >= RING_BYTES else math.ceil(math.log2(ranks))
        return steps * self.message() + moved * self.gap

    def broadcast(self, size, ranks):
        if ranks < 2:
            return 0.0
        levels = math.ceil(math.log2(ranks))
        if size < SCATTER_BYTES or ranks < 8:
            return levels * self.message(size)
        moved = size * (ranks - 1) / ranks
        return levels * self.message() + moved * self.gap + self.allgather(size, ranks)

    def reduction(self, size, ranks):
        """Ranks combine so many bytes each in a tree, and all have the result."""
        return math.ceil(math.log2(ranks)) * self.message(size) if ranks > 1 else 0.0

    def neighbours(self, size, ranks):
        """Border rows of so many bytes to both sides, in both directions at once; the second message is begun one overhead later."""
        return self.message(size) + self.overhead + size * self.gap if ranks > 1 else 0.0

    def all_to_all(self, size, ranks):
        """Every rank has a part of so many bytes, and sends each other rank a piece of it."""
        return (ranks - 1) * (2 * self.overhead + size / ranks**2 * self.gap) + self.latency if ranks > 1 else 0.0


HUNDRED_GIGABIT = Network("100 Gb/s", latency=1.2e-6, overhead=0.4e-6, gap=1 / 12.5e9)
"""L + 2o = 2 microseconds."""

NAMED = {"100g": HUNDRED_GIGABIT}


def harmonic(n):
    """The mean of the largest of n exponentially distributed times of mean 1."""
    if n < 64:
        return sum(1 / k for k in range(1, n + 1))
    return math.log(n) + EULER + 1 / (2 * n)


NEIGHBOURS = 2.4
"""The same of many ranks that wait for their two neighbours after each of many steps: delays travel, but not all of them matter
(`test_simulator.py` finds this number by trying)."""


@dataclass(frozen=True)
class Noise:
    """What comes between: delays of a rank between two exchanges, exponentially distributed, whatever it computes."""

    mean: float = 0.0

    def last(self, ranks):
        """How much later all ranks have met, on average."""
        return self.mean * harmonic(ranks) if ranks > 1 else 0.0

    def neighbours(self, ranks):
        """How much later a step ends whose ranks wait for their neighbours alone."""
        return min(self.last(ranks), self.mean * NEIGHBOURS)


def efficiency_of_steps(task, network, noise, ranks, border=16):
    """The share of its time that a rank works which exchanges borders of so many bytes with its neighbours after each task."""
    return task / (task + network.neighbours(border, ranks) + noise.neighbours(ranks))


TASK = 100e-6
TASK_RANKS = 256
"""Task Bench (arXiv 1908.05790) on 256 nodes: tasks of 100 microseconds are the finest of which a system works half of the time."""


def fitted_noise(network=HUNDRED_GIGABIT, task=TASK, ranks=TASK_RANKS, border=16):
    """The noise with which ranks work half of the time: all that the network does not explain. So it is an upper bound."""
    return Noise((task - network.neighbours(border, ranks)) / Noise(1.0).neighbours(ranks))
