"""Who is measured: each builds its program for a case when it is first needed, and is started anew for every turn."""
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cases import BEFORE, C, JAX, NUMPY, RANKS, SINGLE, THREADS, TORCH, TYPES
from simulator.trace import Malformed, parse
from suite import programs
from suite.programs import BENCH, OUT, ROOT, Unavailable, macro_options
from suite.servers import openblas_core

TIME_LIMIT = 300
"""Seconds for a turn."""
LIBRARIES = {NUMPY: "mpi4py", TORCH: "torch", JAX: "jax"}


class Launcher:
    """Starts programs on several ranks of this machine."""

    def __init__(self, command):
        self.command = shlex.split(command)

    def __call__(self, ranks, command, settings):
        return finished([*self.command, "-n", str(ranks), *command], settings)

    def version(self):
        """What it says of itself, up to the first number with a point."""
        text = " ".join(finished([self.command[0], "--version"], {}).split())
        found = re.match(r".*?\d+(\.\d+)+", text)
        return found[0] if found else text[:40]


def environment(settings):
    """One thread per process unless `settings` say otherwise. Open MPI starts nothing as root, nor more processes than
    cores, unless it is told to."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "RAVEL_THREADS"), "1")
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1") if os.geteuid() == 0 else {}
    return os.environ | threads | root | {"OMPI_MCA_rmaps_base_oversubscribe": "1"} | settings


def finished(command, settings):
    """Standard output of a command that succeeds in time. A launcher takes its processes along when it is terminated."""
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(settings), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise Unavailable(str(error)) from None
    try:
        text, complaints = process.communicate(timeout=TIME_LIMIT)
    except BaseException as reason:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise Unavailable(f"took more than {TIME_LIMIT} s") from None
        raise
    if process.returncode:
        lines = [line for line in complaints.splitlines() if line.strip(" -")]
        raise Unavailable(f"status {process.returncode}: {lines[-1].strip() if lines else 'no message'}")
    return text


class Ravel:
    """A SaC program, on threads or on ranks of one thread. The number of measurements is fixed: no rank has to agree with
    the others on what a clock says."""

    def __init__(self, compiler, backend, label, runs, options=()):
        self.compiler, self.backend, self.label, self.options = compiler, backend, label, options
        self.runs = runs
        self.built = {}

    def program(self, case):
        if case.name not in self.built:
            path = OUT / "bin" / re.sub(r"\W+", "-", f"ranks {self.label} {case.title}")
            path.parent.mkdir(parents=True, exist_ok=True)
            macros = {"BUDGET": "1e9", "MOST": case.runs} | case.macros()
            source = (ROOT if case.training else BENCH) / case.sac
            command = [self.compiler, "build", "--backend", self.backend, "-I", str(BENCH / "common"), *macro_options(macros)]
            try:
                programs.output([*command, *self.options, str(source), "-o", str(path)])
                self.built[case.name] = path
            except Unavailable as failure:
                self.built[case.name] = failure
        if isinstance(self.built[case.name], Unavailable):
            raise self.built[case.name]
        return str(self.built[case.name]), *case.options

    def measure(self, case, ranks):
        reader = programs.Training if case.training else programs.Program
        times = []
        # The network trains once each time it is started.
        for _ in range(case.runs if case.training else 1):
            seconds, check = reader.read(self.runs(self.program(case), ranks))
            times += seconds
        return times, check

    def waiting(self, case, ranks, launch):
        """The share of its time that a rank waits for others, by the trace of a run of its own."""
        trace = OUT / "ranks-trace"
        trace.unlink(missing_ok=True)
        launch(ranks, self.program(case), {"RAVEL_STATS": "ranks", "RAVEL_RANKS_TRACE": str(trace)})
        try:
            events = parse(trace.read_text()).events
        except (OSError, Malformed) as error:
            raise Unavailable(f"no trace: {error}") from None
        spent = waited = 0.0
        for event in events:
            own = event.computing if event.kind == "whole" else event.computing / ranks
            spent += event.replicated + own + event.waiting + event.moving
            waited += event.waiting
        return waited / spent if spent else 0.0


class Compiled:
    """A C program."""

    def __init__(self, compiler, launch):
        self.compiler, self.launch = shlex.split(compiler), launch
        self.built = {}

    def measure(self, case, ranks):
        if case.c is None:
            return None
        if case.name not in self.built:
            path = OUT / "bin" / re.sub(r"\W+", "-", f"ranks c {case.title}")
            path.parent.mkdir(parents=True, exist_ok=True)
            macros = macro_options({"MOST": case.runs} | case.macros())
            command = [*self.compiler, "-O3", "-march=native", "-ffast-math", *macros, str(HERE / case.c), "-o", str(path), "-lm"]
            programs.output(command)
            self.built[case.name] = path
        return programs.Program.read(self.launch(ranks, [str(self.built[case.name])], {}))


class Script:
    """A Python program: that of a case for mpi4py, that of the network for the other libraries."""

    def __init__(self, python, library, launch):
        self.python, self.library, self.launch = python, library, launch

    def measure(self, case, ranks):
        if self.library == NUMPY:
            if case.python is None:
                return None
            arguments = [case.python, TYPES[case.ty], case.runs, *case.sizes.values()]
        else:
            if not case.training:
                return None
            program = {TORCH: "python/cnn_torch.py", JAX: "python/cnn_jax.py"}[self.library]
            arguments = [program, f"127.0.0.1:{free_port()}", case.runs, *case.training.values()]
        settings = {"PYTHONPATH": os.pathsep.join([str(BENCH / "common"), str(BENCH / "cnn")]), "GLOO_SOCKET_IFNAME": "lo"}
        settings |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        if openblas_core():
            settings["OPENBLAS_CORETYPE"] = openblas_core()
        command = [self.python, str(HERE / arguments[0]), *map(str, arguments[1:])]
        return programs.Program.read(self.launch(ranks, command, settings))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def versions(options):
    """Of the peers that are there, by name; and why the others are not."""
    found, missing = {}, {}
    if options.no_peers:
        return found, missing

    def ask(name, question):
        try:
            found[name] = question()
        except Unavailable as reason:
            missing[name] = str(reason)

    ask(C, lambda: finished([*shlex.split(options.mpicc), "--version"], {}).splitlines()[0])
    for name, module in LIBRARIES.items():
        ask(name, lambda module=module: f"{module} " + finished([options.python, "-c", f"import {module}; print({module}.__version__)"], {}).strip())
    if NUMPY in found:
        found[NUMPY] += ", numpy " + finished([options.python, "-c", "import numpy; print(numpy.__version__)"], {}).strip()
    return found, missing


def participants(options, launch, peers):
    """Those that take part, by name, in the order of the table."""
    backend = options.backend or programs.backends()[0]

    def on_threads(command, ranks):
        return finished(command, {"RAVEL_THREADS": str(ranks)})

    def alone(command, ranks):
        return finished(command, {})

    def on_ranks(command, ranks):
        return launch(ranks, command, {})

    all_of_them = {RANKS: Ravel(programs.RAVEL, backend, "rows", on_ranks, ["--ranks"])}
    all_of_them |= {name: Ravel(programs.RAVEL, backend, "now", runs) for name, runs in ((THREADS, on_threads), (SINGLE, alone))}
    if options.before:
        all_of_them[BEFORE] = Ravel(options.before, backend, "before", alone)
    if C in peers:
        all_of_them[C] = Compiled(options.mpicc, launch)
    return all_of_them | {name: Script(options.python, name, launch) for name in LIBRARIES if name in peers}


def opens_mpi(program):
    """Whether a program opens a library of MPI when nobody launched it: the loader tells which ones it looks for."""
    process = subprocess.run(
        program, cwd=ROOT, env=environment({"LD_DEBUG": "libs"}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIME_LIMIT,
    )
    return "libmpi" in process.stderr
