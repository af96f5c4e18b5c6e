"""The machine: what it is, and what it can do at best."""
import os
import platform
import re
import subprocess
from pathlib import Path

from .programs import OUT, Unavailable, output, ravel_version
from .servers import openblas_core


def first(pattern, path):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        return None
    return found.group(1).strip() if found else None


def peaks(threads):
    """Per number of threads: operations a second (`f32`, `f64`; in vectors of 128 bits `f32x4`, `f64x2`), bytes a second (`read`, `copy`)."""
    program = OUT / "bin" / "peak"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("peak.c")
    output(["gcc", "-O3", "-march=native", "-fopenmp", str(source), "-o", str(program)])
    found = {}
    for n in threads:
        text = output([str(program)], os.environ | {"OMP_NUM_THREADS": str(n)})
        found[n] = {line.split()[0]: float(line.split()[1]) for line in text.splitlines()}
    return found


def gcc_version():
    text = subprocess.run(["gcc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return text.splitlines()[0].split()[-1]


def describe(threads):
    machine = {
        "processor": first(r"^model name\s*: (.*)$", "/proc/cpuinfo") or platform.processor(),
        "family": first(r"^cpu family\s*: (.*)$", "/proc/cpuinfo"),
        "model": first(r"^model\s*: (.*)$", "/proc/cpuinfo"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": int(first(r"^MemTotal:\s*(\d+)", "/proc/meminfo") or 0) * 1024,
        "load": os.getloadavg()[0],
        "versions": {"Ravel": ravel_version()},
        "openblas": openblas_core(),
        "peaks": {},
    }
    try:
        machine["versions"]["gcc"] = gcc_version()
        machine["peaks"] = peaks(threads)
    except (OSError, Unavailable) as failure:
        machine["note"] = f"no C compiler: {failure}"
    return machine


def header(machine):
    """What a reader of figures must know, as lines of text."""
    vectors = next((v for f, v in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if f in (first(r"^flags\s*: (.*)$", "/proc/cpuinfo") or "")), "")
    yield f"{machine['processor']} (family {machine['family']}, model {machine['model']}, {vectors}), " \
          f"{machine['cores']} cores, {machine['memory'] / 2**30:.0f} GiB, load {machine['load']:.1f} at the start"
    yield ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    if machine["openblas"]:
        yield f"OpenBLAS told that this is {machine['openblas']} (OPENBLAS_CORETYPE)"
    for n, peak in machine["peaks"].items():
        yield f"{n} thread{'s'[: int(n) > 1]}: peak {peak['f32'] / 1e9:.0f} GFLOP/s f32, {peak['f64'] / 1e9:.0f} f64, " \
              f"in vectors of 128 bits {peak['f32x4'] / 1e9:.0f} and {peak['f64x2'] / 1e9:.0f}; " \
              f"a C loop reads {peak['read'] / 1e9:.1f} GB/s, copies {peak['copy'] / 1e9:.1f} GB/s"
