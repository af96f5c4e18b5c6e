"""Goes through a trace as so many ranks would."""
import math
from dataclasses import dataclass

from .network import Noise

SMALL_BYTES = 64 << 10
"""A result of at most so many bytes goes with the words by which ranks meet, as in runtime/src/ranks/exchange.rs."""

WORD = 8
CYCLES_PER_SECOND = 3e9
"""As runtime/src/ranks/plan.rs has it: the choice is made from estimates."""

SAMPLE = 128 << 10
"""Bytes of each rank by which the runtime measures how fast they move."""


@dataclass(frozen=True)
class Setting:
    network: object
    noise: Noise = Noise()
    threads: int = 1
    """Threads of each rank, with a core each."""
    cores: int | None = None
    """Cores for all ranks together; none: each rank has its own."""
    share: str = "auto"
    weak: bool = False
    """The more ranks, the more chunks: each rank has the work of the trace."""
    reduction: str = "gathered"
    """Partial results are `gathered`, or combined in a `tree`."""
    costs: tuple | None = None
    """Latency and bandwidth by which the program chooses; none: what it would measure on the network."""


@dataclass
class Times:
    work: float = 0.0
    replicated: float = 0.0
    moving: float = 0.0
    waiting: float = 0.0

    @property
    def total(self):
        return self.work + self.replicated + self.moving + self.waiting


def measured_costs(network, ranks):
    """Latency and bandwidth that a program on this network would find at its start."""
    latency = network.allgather(WORD * ranks, ranks)
    moving = max(network.allgather(SAMPLE * ranks, ranks) - latency, 1e-6)
    return latency, SAMPLE * (ranks - 1) / moving


def pays(cycles, size, ranks, threads, costs):
    """The rule of the runtime."""
    latency, bandwidth = costs
    alone = cycles / CYCLES_PER_SECOND / threads
    return alone / ranks + latency + size * (ranks - 1) / ranks / bandwidth < alone


def longest(chunks, ranks, threads):
    """Chunks that the last thread of the rank with most of them computes, one after another."""
    return math.ceil(math.ceil(chunks / ranks) / threads)


def moving(event, size, chunks, ranks, setting):
    """Seconds of the exchanges behind a loop that is shared."""
    network, words = setting.network, WORD * ranks
    if event.kind == "interval":
        return network.neighbours(size, ranks)
    if event.kind == "exchange":
        return network.all_to_all(size, ranks)
    if event.kind == "partials" and setting.reduction == "tree":
        return network.reduction(size / chunks, ranks)
    if size <= SMALL_BYTES:
        return network.allgather(words + size, ranks)
    return network.allgather(words, ranks) + network.allgather(size, ranks)


def replay(trace, ranks, setting):
    """The times of the slowest rank, in the end of each of which all ranks have met."""
    times, network, noise = Times(), setting.network, setting.noise
    # The core with one rank more than others is waited for.
    crowd = max(1, math.ceil(ranks * setting.threads / setting.cores)) if setting.cores else 1
    costs = setting.costs or measured_costs(network, ranks)
    grown = ranks if setting.weak else 1
    for event in trace.events:
        times.replicated += event.replicated * crowd
        if event.kind == "broadcast":
            times.moving += network.broadcast(event.bytes, ranks) * crowd
            times.waiting += noise.last(ranks)
            continue
        if not event.is_loop:
            times.moving += moving(event, event.bytes, 1, ranks, setting) * crowd
            continue
        # A traced rank may have had several threads.
        work, chunks = event.computing * trace.threads * grown, event.chunks * grown
        size = event.bytes * (1 if event.kind == "interval" else grown)
        is_shared = ranks > 1 and chunks > 1 and (
            setting.share == "always"
            or event.kind in ("interval", "exchange")
            or setting.share == "auto" and pays(event.cycles * grown, size, ranks, setting.threads, costs)
        )
        if not is_shared:
            whole = work * longest(chunks, 1, setting.threads) / chunks * crowd
            kept = "work" if ranks == 1 else "replicated"
            setattr(times, kept, getattr(times, kept) + whole)
            continue
        mean = work / ranks / setting.threads
        times.work += mean * crowd
        last = work * longest(chunks, ranks, setting.threads) / chunks
        late = noise.neighbours(ranks) if event.kind == "interval" else noise.last(ranks)
        times.waiting += (last - mean) * crowd + late
        times.moving += moving(event, size, chunks, ranks, setting) * crowd
    times.replicated += trace.rest * crowd
    return times
