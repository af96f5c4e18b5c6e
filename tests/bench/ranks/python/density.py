"""A density at places of which ranks have some, from observations that all have."""
import numpy as np
from ranks import bounds, checksum, dtype, finish, measure, series, sizes

BLOCK = 64
(n,) = sizes
first, last = bounds(n)
data = (series(0, n, 7919) + series(0, n, 104729) * series(0, n, 104723)).astype(dtype)
places = (2.0 * np.arange(first, last) / n).astype(dtype)
h = dtype.type(0.05)
scale = 1 / (n * h * np.sqrt(dtype.type(2 * np.pi)))


def density():
    blocks = (places[start : start + BLOCK, None] for start in range(0, len(places), BLOCK))
    return scale * np.concatenate([np.exp(dtype.type(-0.5) * ((block - data) / h) ** 2).sum(1) for block in blocks])


finish(checksum(measure(density), first))
