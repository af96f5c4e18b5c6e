"""What the Python programs of the benchmarks share: data and checksums, the same as in Measure.sac and bench.h."""
import numpy as np


def datum(i, k):
    """Datum number i of series k, one of 1009 numbers in [0, 1)."""
    return i % 1009 * k % 1009 / 1009


def series(n, k, dtype=np.float64):
    return datum(np.arange(n, dtype=np.int64), k).astype(dtype)


def checksum(a):
    """The elements, weighted by 1, 2, 3, 1, 2, 3, ... in row-major order."""
    flat = np.asarray(a).reshape(-1).astype(np.float64)
    return float(sum((w + 1) * flat[w::3].sum() for w in range(3)))
