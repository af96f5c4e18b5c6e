"""Matrix product by the libraries' own routines."""
import numpy as np
from data import checksum, series


def operands(dtype, n):
    return (series(n * n, 7919) - 0.5).astype(dtype).reshape(n, n), series(n * n, 104729, dtype).reshape(n, n)


def numpy(dtype, n):
    a, b = operands(dtype, n)
    c = np.empty_like(a)
    return lambda: np.matmul(a, b, out=c), checksum


def torch(dtype, n):
    import torch

    a, b = map(torch.from_numpy, operands(dtype, n))
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c), checksum


def jax(dtype, n):
    import jax

    a, b = map(jax.numpy.asarray, operands(dtype, n))
    product = jax.jit(jax.numpy.matmul)
    return lambda: product(a, b).block_until_ready(), checksum
