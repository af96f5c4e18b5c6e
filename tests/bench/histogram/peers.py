"""Histogram of small integers."""
import numpy as np
from data import checksum, datum


def numbers(n, bins):
    i = np.arange(n, dtype=np.int64)
    return (bins * datum(i, 7919) * datum(i + i // 1009, 104729)).astype(np.int32)


def numpy(n, bins):
    values = numbers(n, bins)
    return lambda: np.bincount(values, minlength=bins), checksum


def torch(n, bins):
    import torch

    values = torch.from_numpy(numbers(n, bins))
    return lambda: torch.bincount(values, minlength=bins), checksum


def jax(n, bins):
    import jax

    values = jax.numpy.asarray(numbers(n, bins))
    histogram = jax.jit(lambda v: jax.numpy.bincount(v, length=bins))
    return lambda: histogram(values).block_until_ready(), checksum


def numba(n, bins):
    import numba

    @numba.njit
    def histogram(values):
        counts = np.zeros(bins, np.int32)
        for value in values:
            counts[value] += 1
        return counts

    values = numbers(n, bins)
    return lambda: histogram(values), checksum
