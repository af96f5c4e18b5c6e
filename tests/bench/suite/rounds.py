"""Measures everything in turn: in each round every participant once, so that all meet the same disturbances."""
import statistics
import sys
import time

from . import programs
from .programs import Unavailable
from .servers import LIBRARIES, Server

RAVEL = {"llvm": "Ravel LLVM", "cranelift": "Ravel Cranelift"}
SLOW = 4.0
"""Seconds: what is measured for longer in one round is not measured again."""


class Participants:
    """All that can be measured, built or started on demand."""

    def __init__(self, options):
        self.options = options
        self.backends = programs.backends()
        self.compiled = {}
        self.servers = {
            (library, n): Server(options.python, library, n) for library in LIBRARIES for n in options.threads
        }

    def names(self):
        wanted = self.options.peers
        peers = [p for p in ["C", *LIBRARIES.values()] if wanted is None or p.lower() in wanted]
        return [RAVEL[b] for b in self.backends] + peers

    def measure(self, name, case, threads):
        """Seconds of each measurement and the checksum; None if this participant has no program for the case."""
        budget = self.options.budget
        for backend, label in RAVEL.items():
            if label == name:
                return self.program((case, backend), lambda: programs.sac(case, backend, budget)).measure(threads)
        if name == "C":
            if case.c is None:
                return None
            return self.program((case.peer_key(), "c"), lambda: programs.c(case, budget)).measure(threads)
        library = next(library for library, label in LIBRARIES.items() if label == name)
        return self.servers[library, threads].measure(case.workload, case.arguments, budget)

    def program(self, key, build):
        key = str(key)
        if key not in self.compiled:
            self.compiled[key] = build()
        return self.compiled[key]

    def versions(self):
        return {LIBRARIES[library]: s.version for (library, _), s in self.servers.items() if s.version}

    def stop(self):
        for server in self.servers.values():
            server.stop()


def say(text):
    print(text, file=sys.stderr, flush=True)


def measure_all(cases, participants, options):
    """Figures per case, threads and participant: `seconds`, `check`, or `note` if there are none."""
    figures = [{n: {} for n in options.threads} for _ in cases]
    shared = {}
    begin = time.monotonic()
    for number in range(options.runs):
        names = participants.names()
        names = names[number % len(names) :] + names[: number % len(names)]
        for case, row in zip(cases, figures):
            if number > 0 and time.monotonic() - begin > options.limit:
                say(f"round {number + 1}: no time for {case.name}")
                continue
            for threads in options.threads:
                start = time.monotonic()
                for name in names:
                    entry = row[threads].setdefault(name, {"seconds": [], "slow": False})
                    is_peer = name not in RAVEL.values()
                    key = (case.peer_key(), threads, name, number)
                    if is_peer and key in shared:
                        row[threads][name] = shared[key]
                        continue
                    one(entry, name, case, threads, participants)
                    if is_peer:
                        shared[key] = entry
                say(f"round {number + 1}: {case.name}, threads {threads}: {time.monotonic() - start:.1f} s")
    return figures


def one(entry, name, case, threads, participants):
    if entry["slow"] or "note" in entry or "absent" in entry:
        return
    try:
        result = participants.measure(name, case, threads)
    except (Unavailable, OSError) as failure:
        entry["note"] = str(failure)
        say(f"  {name}: {failure}")
        return
    if result is None:
        entry["absent"] = True
        return
    seconds, check = result
    entry["seconds"] += seconds
    entry["check"] = check
    entry["slow"] = sum(seconds) > SLOW


def judge(case, entries):
    """Marks every figure whose checksum is not that of the others: C's, or else the most common one, is right."""
    checks = {name: e["check"] for name, e in entries.items() if e.get("seconds")}
    if not checks:
        return

    def agree(a, b):
        return abs(a - b) <= case.tolerance * max(abs(a), abs(b), 1e-300)

    right = checks.get("C")
    if right is None:
        right = max(checks.values(), key=lambda c: sum(agree(c, other) for other in checks.values()))
    for name, check in checks.items():
        if not agree(check, right):
            entries[name]["wrong"] = f"checksum {check:.12g} instead of {right:.12g}"


def median(entry):
    """Seconds, or None without figures that may be compared."""
    return statistics.median(entry["seconds"]) if entry.get("seconds") and "wrong" not in entry else None
