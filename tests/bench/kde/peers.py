"""Density estimation: blocks of the matrix of all pairs, or loops in Numba."""
import math

import numpy as np
from data import checksum, series

H = 0.05
BLOCK = 256


def observations(dtype, n):
    data = series(n, 7919) + series(n, 104729) * series(n, 104723)
    return (2.0 * np.arange(n) / n).astype(dtype), data.astype(dtype)


def scale(n):
    return 1 / (n * H * math.sqrt(2 * math.pi))


def blockwise(places, data, exp):
    for start in range(0, len(places), BLOCK):
        u = (places[start : start + BLOCK, None] - data) * (1 / H)
        yield exp(-0.5 * u * u).sum(1) * scale(len(data))


def numpy(dtype, n):
    places, data = observations(dtype, n)
    return lambda: np.concatenate(list(blockwise(places, data, np.exp))), checksum


def torch(dtype, n):
    import torch

    places, data = map(torch.from_numpy, observations(dtype, n))
    return lambda: torch.cat(list(blockwise(places, data, torch.exp))), checksum


def jax(dtype, n):
    import jax
    import jax.numpy as jnp

    places, data = map(jnp.asarray, observations(dtype, n))

    @jax.jit
    def density(places, data):
        # XLA fuses the matrix of all pairs into the sums.
        u = (places[:, None] - data) * (1 / H)
        return jnp.exp(-0.5 * u * u).sum(1) * scale(n)

    return lambda: density(places, data).block_until_ready(), checksum


def numba(dtype, n):
    import numba

    places, data = observations(dtype, n)
    real = np.dtype(dtype).type
    reciprocal, factor, half = real(1 / H), real(scale(n)), real(-0.5)

    @numba.njit(fastmath=True, parallel=True)
    def density(places, data):
        d = np.empty_like(places)
        for i in numba.prange(n):
            total = real(0)
            for j in range(n):
                u = (places[i] - data[j]) * reciprocal
                total += math.exp(half * u * u)
            d[i] = total * factor
        return d

    return lambda: density(places, data), checksum
