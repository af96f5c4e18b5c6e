"""Runs programs on ranks of this machine, and measures its network."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .network import Network
from .trace import Malformed, parse

HERE = Path(__file__).parents[1]
ROOT = HERE.parents[2]
TIME_LIMIT = 300
"""Seconds for one run."""


class Failed(Exception):
    """Why there is no figure."""


def output(command, **variables):
    """What a command writes to its standard output."""
    # Open MPI lets the administrator run programs, and more ranks than cores, if it is told twice.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    environment = os.environ | allowed | variables
    words = " ".join(map(str, command))
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except OSError as error:
        raise Failed(f"{words}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{words}: not done after {TIME_LIMIT} s") from error
    if done.returncode != 0:
        raise Failed(f"{words}: status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def launcher(ranks):
    """The command that starts so many ranks; one needs none."""
    if ranks == 1:
        return []
    mpirun = shutil.which("mpirun")
    if not mpirun:
        raise Failed("there is no mpirun")
    return [mpirun, "-q", "-n", str(ranks), "--bind-to", "none"] if is_open_mpi(mpirun) else [mpirun, "-n", str(ranks)]


def is_open_mpi(mpirun):
    return "Open MPI" in output([mpirun, "--version"])


def ping_pong(folder):
    """The network between two ranks of this machine; none without a compiler for MPI."""
    mpicc = shutil.which("mpicc")
    if not mpicc:
        return None
    program = Path(folder) / "pingpong"
    output([mpicc, "-O2", HERE / "pingpong.c", "-o", program])
    numbers = [float(word) for word in output([*launcher(2), program]).split()]
    if len(numbers) != 3:
        raise Failed("pingpong did not print three numbers")
    return Network("measured here", *numbers)


def network_of(trace):
    """From what the program itself measured at its start, on the ranks of the trace."""
    if trace.network is None or trace.ranks < 2:
        raise Failed("the trace has no line `network`: it is one of a single rank")
    latency, bandwidth = trace.network
    steps = max(1, (trace.ranks - 1).bit_length())
    return Network("measured by the program", latency / steps, 0.0, 1 / bandwidth)


def build(program, folder, options):
    """An executable of a SaC program; what is no SaC program is one."""
    if Path(program).suffix != ".sac":
        return Path(program).resolve()
    ravel = os.environ.get("RAVEL_BIN", str(ROOT / "target" / "release" / "ravel"))
    executable = Path(folder) / "program"
    output([ravel, "build", *options, program, "-o", executable])
    return executable


def trace_of(command, ranks, threads, share):
    """The trace of one run of a program with its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        output(
            [*launcher(ranks), *command],
            RAVEL_STATS="ranks", RAVEL_RANKS_TRACE=str(path), RAVEL_THREADS=str(threads), RAVEL_RANKS_SHARE=share,
        )
        if not path.exists():
            raise Failed(f"{command[0]} wrote no trace: did it end by `exit`?")
        trace = parse(path.read_text())
    if trace.ranks != ranks:
        raise Malformed(f"started {ranks} ranks, the trace has {trace.ranks}")
    return trace
