"""Prefix sums."""
import numpy as np
from data import checksum, series


def numbers(dtype, n):
    return (series(n, 7919) - 0.5).astype(dtype)


def numpy(dtype, n):
    v = numbers(dtype, n)
    out = np.empty_like(v)
    return lambda: np.cumsum(v, out=out), checksum


def torch(dtype, n):
    import torch

    v = torch.from_numpy(numbers(dtype, n))
    out = torch.empty_like(v)
    return lambda: torch.cumsum(v, 0, out=out), checksum


def jax(dtype, n):
    import jax

    v = jax.numpy.asarray(numbers(dtype, n))
    cumsum = jax.jit(jax.numpy.cumsum)
    return lambda: cumsum(v).block_until_ready(), checksum


def numba(dtype, n):
    import numba

    @numba.njit
    def cumsum(v, out):
        total = v.dtype.type(0)
        for i in range(len(v)):
            total += v[i]
            out[i] = total
        return out

    v = numbers(dtype, n)
    out = np.empty_like(v)
    return lambda: cumsum(v, out), checksum
