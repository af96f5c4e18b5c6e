"""The square of a number."""
from data import digest


def jax(what):
    import jax

    f = jax.jit((lambda x: x * x) if what == "objective" else jax.grad(lambda x: x * x))
    return lambda: f(1.5).block_until_ready(), digest


def torch(what):
    import torch

    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=what == "gradient")
    return (lambda: x * x) if what == "objective" else lambda: torch.autograd.grad(x * x, x)[0], digest
