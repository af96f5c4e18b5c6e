"""Measures one library in a process of its own, which stays while others have their turn.

    serve.py LIBRARY

Reads lines of JSON, {"workload", "arguments", "budget"}, and answers each with {"seconds", "check"} or {"failure"}. The
first line that it prints is {"version"}. A program is a function of peers.py that returns what to time, the checksum of its
result and, if the first time would take long, a shorter warm-up. Numbers of threads come from the environment, except for PyTorch.
"""
import importlib
import importlib.util
import json
import os
import sys
import time
import traceback
from pathlib import Path

BENCH = Path(__file__).parents[1]
MOST = 50
LONG = 1.0
"""Seconds after which the first time counts as well, for lack of time for another."""
COMPILED = ("jax", "numba")
"""Libraries whose first time is no measurement, because they compile."""


def programs(workload):
    """The module peers.py of a workload."""
    spec = importlib.util.spec_from_file_location(f"peers_of_{workload}", BENCH / workload / "peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(run, budget, series):
    """Seconds of each of several runs, after those in `series`; at least one, and the last result."""
    result = None
    while result is None or (sum(series) < budget and len(series) < MOST):
        start = time.perf_counter()
        result = run()
        series.append(time.perf_counter() - start)
    return series, result


def answer(library, request):
    program = getattr(programs(request["workload"]), library, None)
    if program is None:
        return {"failure": None}
    run, check, *warm_up = program(**request["arguments"])
    seconds, result = timed(warm_up[0] if warm_up else run, 0, [])
    if seconds[0] < LONG or library in COMPILED or warm_up:
        seconds, result = timed(run, request["budget"], [])
    return {"seconds": seconds, "check": check(result)}


def main():
    library = sys.argv[1]
    # What libraries print does not belong among the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    version = importlib.import_module(library).__version__
    if library == "torch":
        sys.modules["torch"].set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    sys.path.insert(0, str(BENCH / "common"))
    print(json.dumps({"version": version}), file=answers)
    for line in sys.stdin:
        try:
            reply = answer(library, json.loads(line))
        except Exception as error:
            traceback.print_exc()
            reply = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers)


main()
