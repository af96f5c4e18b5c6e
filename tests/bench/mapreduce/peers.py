"""Chains of maps and reductions over long vectors."""
import numpy as np
from data import checksum, series

A = 0.75


def operands(kind, dtype, n):
    if kind == "softmax":
        return ((10 * series(n, 7919)).astype(dtype),)
    return series(n, 7919, dtype), series(n, 104729, dtype)


def check(kind, n):
    return {"norms": float, "axpy": checksum, "softmax": lambda p: n * checksum(p)}[kind]


def numpy(kind, dtype, n):
    operand = operands(kind, dtype, n)
    out, a = np.empty_like(operand[0]), np.dtype(dtype).type(A)

    def norms(x, y):
        return np.sum(np.sqrt(x * x + y * y))

    def axpy(x, y):
        np.multiply(x, a, out=out)
        return np.add(out, y, out=out)

    def softmax(x):
        np.subtract(x, x.max(), out=out)
        np.exp(out, out=out)
        return np.divide(out, out.sum(), out=out)

    run = {"norms": norms, "axpy": axpy, "softmax": softmax}[kind]
    return lambda: run(*operand), check(kind, n)


def torch(kind, dtype, n):
    import torch

    operand = tuple(map(torch.from_numpy, operands(kind, dtype, n)))
    run = {
        "norms": lambda x, y: torch.sqrt(x * x + y * y).sum(),
        "axpy": lambda x, y: torch.add(y, x, alpha=A),
        "softmax": lambda x: torch.softmax(x, 0),
    }[kind]
    return lambda: run(*operand), check(kind, n)


def jax(kind, dtype, n):
    import jax
    import jax.numpy as jnp

    operand = tuple(map(jnp.asarray, operands(kind, dtype, n)))
    run = jax.jit({
        "norms": lambda x, y: jnp.sqrt(x * x + y * y).sum(),
        "axpy": lambda x, y: A * x + y,
        "softmax": lambda x: jax.nn.softmax(x),
    }[kind])
    return lambda: run(*operand).block_until_ready(), check(kind, n)
