"""The compiled programs: SaC by Ravel, C by gcc. Each is built once and run often."""
import os
import re
import subprocess
from pathlib import Path

BENCH = Path(__file__).parents[1]
ROOT = BENCH.parents[1]
OUT = BENCH / "out"
RAVEL = os.environ.get("RAVEL_BIN", str(ROOT / "target" / "release" / "ravel"))
TIME_LIMIT = 120
"""Seconds for building a program, and for running it."""


class Unavailable(Exception):
    """Why something has no figures."""


def output(command, environment=None):
    """Standard output of a command that succeeds in time."""
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=TIME_LIMIT, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"took more than {TIME_LIMIT} s") from None
    except OSError as error:
        raise Unavailable(str(error)) from None
    if finished.returncode:
        text = (finished.stderr or finished.stdout).strip()
        raise Unavailable(f"status {finished.returncode}: {text.splitlines()[0] if text else 'no message'}")
    return finished.stdout


def ravel_version():
    return output([RAVEL, "--version"]).split()[1]


def backends():
    """The backends of this build of Ravel that make machine code."""
    text = output([RAVEL, "build", "--help"])
    return [name for name in ("llvm", "cranelift") if f"- {name}:" in text]


def macro_options(macros):
    return [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros.items()]


class Program:
    """Something that prints `seconds T...` and `check X`, built by `command` when it is first needed."""

    def __init__(self, name, command, options=()):
        self.path = OUT / "bin" / re.sub(r"\W+", "-", name)
        self.command = command
        self.options = options
        self.failure = None
        self.built = False

    def measure(self, threads, *options):
        """Seconds of each measurement, and the checksum; `options` stand behind the program's own."""
        if not self.built:
            self.built = True
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                output([*self.command, "-o", str(self.path)])
            except Unavailable as failure:
                self.failure = failure
        if self.failure:
            raise self.failure
        settings = {"OMP_NUM_THREADS": str(threads), "RAVEL_THREADS": str(threads)}
        return self.read(output([str(self.path), *self.options, *options], os.environ | settings))

    @staticmethod
    def read(text):
        seconds = re.search(r"^seconds((?: [\d.e+-]+)+)$", text, re.M)
        check = re.search(r"^check (\S+)$", text, re.M)
        if not seconds or not check:
            raise Unavailable("printed no figures")
        return [float(s) for s in seconds.group(1).split()], float(check.group(1))


class Training(Program):
    """examples/mnist/zhang.sac, which reports in its own words."""

    @staticmethod
    def read(text):
        errors = re.findall(r"^epoch.*error ([-+.\de]+)", text, re.M)
        return [float(re.search(r"training took ([\d.]+) s", text).group(1))], float(errors[-1])


def sac(case, backend, budget):
    macros = {"BUDGET": budget} | case.macros | case.sac_macros
    training = case.workload == "cnn"
    source = ROOT / case.sac if training else BENCH / case.sac
    command = [RAVEL, "build", "--backend", backend, "-I", str(BENCH / "common"), *macro_options(macros), str(source)]
    kind = Training if training else Program
    return kind(f"{case.name} {backend}", command, case.options)


def c(case, budget):
    flags = ["-O3", "-march=native", "-fopenmp"] + (["-ffast-math"] if case.fast_math else [])
    macros = macro_options({"BUDGET": budget} | case.macros)
    return Program(f"{Path(case.c).stem} {case.macros} c", ["gcc", *flags, *macros, str(BENCH / case.c), "-lm"])
