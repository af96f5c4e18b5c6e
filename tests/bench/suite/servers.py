"""The Python libraries: one process per library and number of threads, started when first needed."""
import json
import os
import selectors
import subprocess
from pathlib import Path

from .programs import OUT, Unavailable

SERVE = Path(__file__).with_name("serve.py")
TIME_LIMIT = 120
LIBRARIES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "numba": "Numba"}


def openblas_core():
    """The kernels OpenBLAS should choose; it does not know every recent processor. None: leave the choice to it."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return None
    return "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None


def settings(library, threads):
    n = str(threads)
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NPROC")
    environment = os.environ | dict.fromkeys(variables, n) | {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    if openblas_core():
        environment["OPENBLAS_CORETYPE"] = openblas_core()
    if library == "jax":
        multi = "true" if threads > 1 else "false"
        environment["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={multi} intra_op_parallelism_threads={n}"
    return environment


class Server:
    def __init__(self, python, library, threads):
        self.python, self.library, self.threads = python, library, threads
        self.process = None
        self.version = None
        self.refusal = None

    def start(self):
        if self.refusal:
            raise self.refusal
        OUT.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [self.python, str(SERVE), self.library], env=settings(self.library, self.threads),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=(OUT / f"{self.library}.log").open("a"), bufsize=0,
        )
        try:
            self.version = self.reply()["version"]
        except Unavailable:
            self.stop()
            self.refusal = Unavailable("not installed")
            raise self.refusal from None

    def measure(self, workload, arguments, budget):
        """Seconds of each measurement and the checksum; None if the library has no program for this."""
        if self.process is None:
            self.start()
        request = json.dumps({"workload": workload, "arguments": arguments, "budget": budget}) + "\n"
        try:
            self.process.stdin.write(request.encode())
            reply = self.reply()
        except (Unavailable, OSError):
            self.stop()
            raise
        if "failure" in reply:
            if reply["failure"] is None:
                return None
            raise Unavailable(reply["failure"])
        return reply["seconds"], reply["check"]

    def reply(self):
        """The next line of the process, within the time limit."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(TIME_LIMIT):
                raise Unavailable(f"took more than {TIME_LIMIT} s")
        line = self.process.stdout.readline()
        if not line:
            raise Unavailable("ended")
        return json.loads(line)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
