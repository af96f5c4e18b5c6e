"""The figures as Markdown: times, ratios, and which goals are met."""
from cases import BEFORE, C, JAX, NUMPY, RANKS, SINGLE, THREADS, TORCH
from suite.rounds import judge, median
from suite.table import cell, ratio

OWN = (RANKS, THREADS, SINGLE, BEFORE)
AS_BEFORE = 0.01
"""How far the time without a launcher may be from that of the compiler before."""


def judge_all(case, entries):
    """Marks wrong checksums; those of Ravel are to have the same digits, each time."""
    judge(case, entries)
    for name in OWN:
        if "unequal" in entries.get(name, {}):
            entries[name]["wrong"] = f"checksums {entries[name]['unequal']}: not the same bits each time"
    wanted = entries.get(THREADS, {}).get("check")
    for name in (RANKS, SINGLE):
        found = entries.get(name, {}).get("check")
        if None not in (wanted, found) and found != wanted and "wrong" not in entries[name]:
            entries[name]["wrong"] = f"checksum {found:.17g}, on threads {wanted:.17g}: not the same bits"


def table(figures):
    names = [n for n in (RANKS, THREADS, SINGLE, BEFORE, C, NUMPY, TORCH, JAX) if any(n in entries for _, _, entries in figures)]
    peers = [n for n in names if n not in OWN]
    head = ["", "ranks", *names, *(f"{n} / ranks" for n in [THREADS, *peers]), "speed-up", "waits"]
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for case, ranks, entries in figures:
        mine = median(entries.get(RANKS, {}))
        columns = [case.title, str(ranks), *(cell(entries.get(n)) for n in names)]
        columns += [ratio(median(entries.get(n, {})), mine) for n in [THREADS, *peers]]
        columns.append(ratio(median(entries.get(SINGLE, {})), mine))
        columns.append(f"{entries[RANKS]['waiting']:.0%}" if "waiting" in entries.get(RANKS, {}) else "")
        yield "| " + " | ".join(columns) + " |"


def verdict(met):
    return "met" if met else "**missed**"


def goals(figures):
    """A line per goal: what was wanted, what was found, whether it is met."""
    yield "| | goal | found | |"
    yield "|" + " --- |" * 4
    for case, _, entries in figures:
        own = median(entries.get(RANKS, {}))
        for goal in case.goals:
            other = median(entries.get(goal.against, {}))
            if own and other:
                yield f"| {case.title} | {goal.words} | {goal.found(own, other)} | {verdict(goal.met(own, other))} |"
            else:
                yield f"| {case.title} | {goal.words} | not measured | |"
        waiting = entries.get(RANKS, {}).get("waiting")
        if case.max_waiting is not None and waiting is not None:
            yield f"| {case.title} | waits less than {case.max_waiting:.0%} | {waiting:.1%} | {verdict(waiting < case.max_waiting)} |"
        before, now = median(entries.get(BEFORE, {})), median(entries.get(SINGLE, {}))
        if before and now:
            met = abs(now / before - 1) <= AS_BEFORE
            yield f"| {case.title} | no launcher: 1.00 +- {AS_BEFORE} of before | {now / before:.3f} x | {verdict(met)} |"
        if "opens_mpi" in entries.get(THREADS, {}):
            opens = entries[THREADS]["opens_mpi"]
            yield f"| {case.title} | no launcher: MPI is not opened | {'opened' if opens else 'not opened'} | {verdict(not opens)} |"


def remarks(figures):
    for case, _, entries in figures:
        for name, entry in entries.items():
            for key in ("wrong", "note"):
                if key in entry:
                    yield f"{case.title}, {name}: {entry[key]}"
