#!/usr/bin/env python3
"""Says what a program would take on other numbers of ranks.

    RAVEL_STATS=ranks RAVEL_RANKS_TRACE=t ./program            a trace, of one rank or of several
    tests/bench/ranks/simulate.py t [--network 100g] [--noise 5e-6] [--weak]
    tests/bench/ranks/simulate.py --check program.sac          measured beside predicted, on this machine
    tests/bench/ranks/simulate.py --cases                      the estimates of the design, for cases made up

Work comes from the trace, times of messages from LogGP parameters: those of a named network, `L,o,G` in seconds, `here`
(a ping-pong on this machine, which needs mpicc) or `trace` (what the program measured at its start).
"""
import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from simulator import cases, measure
from simulator.network import NAMED, Network, Noise, fitted_noise
from simulator.replay import Setting, replay
from simulator.trace import Malformed, median, parse

RANKS = [1, 2, 4, 16, 64, 256, 1024, 4096, 10000]
GOAL = 15
"""Percent that a prediction may be off where ranks have cores of their own."""


def numbers(text):
    found = [int(word) for word in text.split(",")]
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError("numbers of ranks, as 1,2,4")
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", help="file of a trace, or the program to check")
    parser.add_argument("--check", action="store_true", help="run a program, and compare")
    parser.add_argument("--cases", action="store_true", help="cases that are made up")
    parser.add_argument("--ranks", type=numbers, default=None)
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument("--cores", type=int, default=None, help="for all ranks together; else each has its own")
    parser.add_argument("--network", default=None, help=f"{', '.join(NAMED)}, L,o,G, here or trace")
    parser.add_argument("--noise", default="0", help="mean delay between exchanges in seconds, or `fit` to Task Bench")
    parser.add_argument("--share", choices=["auto", "always", "never"], default="auto")
    parser.add_argument("--reduction", choices=["gathered", "tree"], default="gathered")
    parser.add_argument("--weak", action="store_true", help="every rank has the work of the trace")
    parser.add_argument("--runs", type=int, default=5, help="of each number of ranks, for --check")
    parser.add_argument("--build", default="", help="options of `ravel build`, for --check")
    parser.add_argument("--arguments", default="", help="of the program, for --check")
    options = parser.parse_args()
    if not options.cases and not options.trace:
        parser.error("the file of a trace, or a program")
    if min(options.threads, options.runs, options.cores or 1) < 1:
        parser.error("--threads, --runs and --cores are at least 1")
    return options


def network_named(name, trace):
    if name in NAMED:
        return NAMED[name]
    if name == "trace":
        return measure.network_of(trace)
    if name == "here":
        with tempfile.TemporaryDirectory() as folder:
            found = measure.ping_pong(folder)
        if found is None:
            raise measure.Failed("there is no mpicc to measure this machine's network with")
        return found
    try:
        latency, overhead, gap = map(float, name.split(","))
    except ValueError:
        raise measure.Failed(f"no such network: {name} ({', '.join(NAMED)}, L,o,G, here or trace)") from None
    if min(latency, overhead) < 0 or gap <= 0:
        raise measure.Failed("latency and overhead are no less than 0, the gap per byte is more")
    return Network(name, latency, overhead, gap)


def noise_named(text, network):
    if text == "fit":
        return fitted_noise(network)
    try:
        mean = float(text)
    except ValueError:
        raise measure.Failed(f"noise is a number of seconds or `fit`, not {text}") from None
    if not mean >= 0:
        raise measure.Failed("noise is no less than 0")
    return Noise(mean)


def seconds(time):
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time >= size:
            return f"{time / size:.2f} {unit}"
    return f"{time * 1e6:.2f} us"


def describe(network, noise):
    message = f"L + 2o = {network.message() * 1e6:.2f} us, {1e-9 / network.gap:.1f} GB/s"
    return f"network {network.name}: {message}; noise {noise.mean * 1e6:.1f} us"


def table(trace, ranks, setting):
    """A line for each number of ranks."""
    alone = replay(trace, 1, setting).total
    lines = [" ranks        time  speed-up  efficiency    work  replicated  moving  waiting"]
    for count in ranks:
        times = replay(trace, count, setting)
        speedup = alone / times.total * (count if setting.weak else 1) if times.total else 1.0
        parts = [times.work, times.replicated, times.moving, times.waiting]
        work, replicated, moving, waiting = (100 * part / times.total if times.total else 0.0 for part in parts)
        lines.append(
            f"{count:6} {seconds(times.total):>11} {speedup:9.2f} {speedup / count:11.2f}"
            f" {work:5.1f} % {replicated:9.1f} % {moving:5.1f} % {waiting:6.1f} %"
        )
    return "\n".join(lines)


def simulate(options):
    # What is no text is no trace either.
    try:
        trace = parse(Path(options.trace).read_text(errors="replace"))
    except Malformed as problem:
        raise Malformed(f"{options.trace} is no trace: {problem}") from problem
    network = network_named(options.network or "100g", trace)
    noise = noise_named(options.noise, network)
    setting = Setting(
        network, noise, options.threads, options.cores, options.share, options.weak, options.reduction
    )
    print(describe(network, noise))
    if trace.left_out:
        print(f"{trace.left_out} exchanges are not in the trace")
    print(table(trace, options.ranks or RANKS, setting))


def check(options):
    """Measures a program, and predicts the same from the runs on one rank."""
    cores = options.cores or os.cpu_count() or 1
    counts = options.ranks or [1, 2, 4]
    arguments_of_program = options.arguments.split()
    with tempfile.TemporaryDirectory() as folder:
        program = measure.build(options.trace, folder, options.build.split())
        # The ranks take turns: what else the machine does meets all of them.
        kinds = sorted({1, *counts})
        traces = {count: [] for count in kinds}
        for _ in range(options.runs):
            for count in kinds:
                traces[count].append(measure.trace_of([program, *arguments_of_program], count, options.threads, options.share))
    alone = median(traces[1])
    several = next((traces[count][0] for count in kinds if count > 1), None)
    network = network_named(options.network or "here", several or alone)
    setting = Setting(network, noise_named(options.noise, network), options.threads, cores, options.share)
    print(f"{describe(network, setting.noise)}; {cores} cores, {alone.threads} threads per rank")
    print(" ranks   predicted    measured    error  all runs")
    errors = []
    for count in counts:
        # The program has chosen by what it measured itself, which differs from run to run.
        found = [trace.network for trace in traces[count] if trace.network]
        costs = tuple(map(statistics.median, zip(*found))) or None
        predicted = replay(alone, count, replace(setting, costs=costs)).total
        times = [trace.seconds for trace in traces[count]]
        measured = statistics.median(times)
        error = 100 * (predicted / measured - 1)
        has_cores = count * options.threads <= cores
        if has_cores:
            errors.append(abs(error))
        note = "" if has_cores else "  ranks share cores"
        span = f"{seconds(min(times))} to {seconds(max(times))}"
        print(f"{count:6} {seconds(predicted):>11} {seconds(measured):>11} {error:+6.1f} %  {span:24}{note}")
    worst = max(errors, default=0.0)
    print(f"at most {worst:.1f} % off where ranks have cores of their own; the goal is {GOAL} %")


def show_cases(options):
    network = network_named(options.network or "100g", None)
    for noise in (Noise(), fitted_noise(network)) if options.noise == "0" else [noise_named(options.noise, network)]:
        print(describe(network, noise))
        for case in cases.ALL:
            print(f"\n{case.name}")
            print(table(case.trace, options.ranks or RANKS, case.setting(network, noise)))
        print()


def main():
    options = arguments()
    try:
        (show_cases if options.cases else check if options.check else simulate)(options)
    except (measure.Failed, Malformed, OSError) as problem:
        sys.exit(f"simulate.py: {problem}")


if __name__ == "__main__":
    main()
