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


def bits(n, k):
    """The numbers of 24 bits of Rows.sac, series k."""
    with np.errstate(over="ignore"):
        x = np.arange(n, dtype=np.uint32) * np.uint32(2654435769) + np.uint32(k * 40503 + 1)
        x = (x ^ (x >> 15)) * np.uint32(2246822519)
        x = (x ^ (x >> 13)) * np.uint32(3266489917)
    return (x ^ (x >> 16)) >> 8


def spread(shape, k, dtype=np.float32):
    """Numbers from -0.5 to 0.5: `floats` and `doubles` of Rows.sac."""
    return (bits(int(np.prod(shape)), k) * 2.0**-24 - 0.5).astype(dtype).reshape(shape)


def whole(shape, k, n):
    """Numbers from 0 to n-1: `whole` of Rows.sac."""
    return (bits(int(np.prod(shape)), k) % n).astype(np.int32).reshape(shape)


def digest(*arrays):
    """The sum of what `digest` of Rows.sac says of each array."""
    return sum(checksum(a) + 2 * checksum(np.abs(a)) for a in map(np.asarray, arrays))
