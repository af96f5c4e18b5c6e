"""The traces that RAVEL_STATS=ranks writes. docs/internals/runtime.md has the format."""
import math
import statistics
from dataclasses import dataclass, field, replace

KINDS = ("gather", "partials", "broadcast", "interval", "exchange", "whole")
VERSION = "ravel-ranks 1"


class Malformed(Exception):
    """What is wrong with a trace, and in which line."""


@dataclass(frozen=True)
class Event:
    """A parallel loop with the exchange behind it, or an exchange alone. Times are seconds."""

    kind: str
    site: int
    cycles: float
    chunks: int
    bytes: int
    replicated: float
    """What every rank did before, on its own."""
    computing: float
    """What the loop takes on one rank."""
    slowest: float
    waiting: float
    moving: float

    @property
    def is_loop(self):
        return self.chunks > 0


@dataclass
class Trace:
    ranks: int = 1
    threads: int = 1
    library: str = ""
    seconds: float = 0.0
    network: tuple | None = None
    """Seconds until ranks have met and bytes in a second, as the program measured them."""
    sites: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    rest: float = 0.0
    left_out: int = 0


def parse(text):
    """The trace in a text, which may have other lines in front of it."""
    lines = text.splitlines()
    if VERSION not in lines:
        raise Malformed(f"no line says `{VERSION}`")
    trace, begin = Trace(), lines.index(VERSION) + 1
    for number, line in enumerate(lines[begin:], begin + 1):
        word, _, rest = line.partition(" ")
        try:
            if word in KINDS:
                fields = rest.split()
                if len(fields) != 9:
                    raise ValueError("nine numbers belong to an event")
                numbers = [int(text) for text in fields]
                if any(number < 0 for number in numbers):
                    raise ValueError("no number is negative")
                times = [number * 1e-9 for number in numbers[4:]]
                trace.events.append(Event(word, numbers[0], float(numbers[1]), *numbers[2:4], *times))
            elif word == "site":
                number_of_site, _, place = rest.partition(" ")
                trace.sites[int(number_of_site)] = place
            elif word == "network":
                latency, bandwidth = map(float, rest.split())
                if not (latency >= 0 and 0 < bandwidth < math.inf):
                    raise ValueError("no network is like that")
                trace.network = (latency, bandwidth)
            elif word in ("ranks", "threads"):
                setattr(trace, word, max(1, int(rest)))
            elif word == "seconds":
                trace.seconds = float(rest)
                if not 0 <= trace.seconds < math.inf:
                    raise ValueError("no time is like that")
            elif word == "library":
                trace.library = rest
            elif word == "end":
                nanoseconds, left_out = map(int, rest.split())
                trace.rest, trace.left_out = nanoseconds * 1e-9, left_out
                return trace
            else:
                raise ValueError(f"no such entry: {word!r}")
        except ValueError as error:
            raise Malformed(f"line {number}: {error}") from error
    raise Malformed("it has no end")


def median(traces):
    """One trace of several of the same program: medians of all times."""
    first = traces[0]
    shapes = {tuple((e.kind, e.site, e.chunks, e.bytes) for e in trace.events) for trace in traces}
    if len(shapes) != 1:
        raise Malformed("the runs differ in what they exchange")
    times = ("replicated", "computing", "slowest", "waiting", "moving")
    events = [
        replace(same[0], **{time: statistics.median(getattr(event, time) for event in same) for time in times})
        for same in zip(*(trace.events for trace in traces))
    ]
    middle = lambda value: statistics.median(map(value, traces))
    return replace(first, events=events, seconds=middle(lambda t: t.seconds), rest=middle(lambda t: t.rest))
