"""The figures as Markdown, and their place in the documentation."""
from .rounds import RAVEL, median

WIDEST = {"f32": "f32", "f64": "f64"}
NARROW = {"f32": "f32x4", "f64": "f64x2"}
"""Vectors of 128 bits are all that Cranelift has."""

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def duration(seconds):
    """Three digits, in milliseconds."""
    ms = seconds * 1e3
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}" if ms >= 1 else f"{ms:.3f}"


def cell(entry):
    if entry is None or entry.get("absent"):
        return ""
    if "wrong" in entry:
        return "wrong"
    return duration(median(entry)) if entry.get("seconds") else "-"


def own(entries):
    """The time to compare: of the fastest backend."""
    return median(entries.get(RAVEL["llvm"], {})) or median(entries.get(RAVEL["cranelift"], {}))


def best_library(entries):
    """Name and time of the fastest peer that is not C."""
    times = {n: median(e) for n, e in entries.items() if n not in RAVEL.values() and n != "C"}
    times = {n: t for n, t in times.items() if t}
    return min(times.items(), key=lambda pair: pair[1]) if times else None


def share_of_flops(case, seconds, peak, kinds):
    """Of the multiply-adds that the machine can do in vectors of some kinds."""
    if not seconds or not peak or not case.flops:
        return ""
    return f"{case.flops / seconds / peak[kinds['f64' if case.name.endswith('f64') else 'f32']]:.0%}"


def share(case, seconds, peak):
    """Of the multiply-adds or of the bandwidth that the machine can do."""
    if not seconds or not peak:
        return ""
    if case.flops:
        return share_of_flops(case, seconds, peak, WIDEST) + " flop"
    if case.bytes:
        return f"{case.bytes / seconds / peak['copy']:.0%} mem"
    return ""


def ratio(time, mine):
    return f"{time / mine:.2f}" if time and mine else ""


def table(cases, figures, threads, all_threads, peak):
    names = [n for n in list(RAVEL.values()) + ["C", "NumPy", "PyTorch", "JAX", "Numba"]
             if any(row[threads].get(n, {}).get("seconds") for row in figures)]
    scaling = threads != all_threads[0]
    narrow = RAVEL["cranelift"] in names and any(case.flops for case in cases)
    head = ["", *names, "C / Ravel", "best library / Ravel", "of peak"] + (["Cranelift of its peak"] if narrow else [])
    head += ["scaling"] if scaling else []
    lines = [" | ".join(["", *head, ""]).strip(), "|" + " --- |" * len(head)]
    for case, row in zip(cases, figures):
        entries = row[threads]
        mine, best = own(entries), best_library(entries)
        columns = [case.name, *(cell(entries.get(n)) for n in names)]
        columns.append(ratio(median(entries.get("C", {})), mine))
        columns.append(f"{ratio(best[1], mine)} {best[0]}" if best and mine else "")
        columns.append(share(case, mine, peak))
        if narrow:
            columns.append(share_of_flops(case, median(entries.get(RAVEL["cranelift"], {})), peak, NARROW))
        if scaling:
            columns.append(ratio(own(row[all_threads[0]]), mine))
        lines.append("| " + " | ".join(columns) + " |")
    return "\n".join(lines)


def remarks(cases, figures):
    """What went wrong, one line each."""
    for case, row in zip(cases, figures):
        for threads, entries in row.items():
            for name, entry in entries.items():
                if "wrong" in entry:
                    yield f"{case.name}, {threads} threads, {name}: {entry['wrong']}"
                elif "note" in entry:
                    yield f"{case.name}, {threads} threads, {name}: {entry['note']}"


def record(path, text):
    """Puts `text` between the markers of a page."""
    page = path.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
