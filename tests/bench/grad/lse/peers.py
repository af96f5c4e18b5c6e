"""The logarithm of a sum of exponentials."""
from data import digest, spread


def x(n):
    return spread(n, 1, "f8") + 0.5


def jax(what, n):
    import jax
    import jax.numpy as jnp

    def primal(x):
        top = jnp.max(x)
        return top + jnp.log(jnp.sum(jnp.exp(x - top)))

    f, at = jax.jit(primal if what == "objective" else jax.grad(primal)), jnp.asarray(x(n))
    return lambda: f(at).block_until_ready(), digest


def torch(what, n):
    import torch

    at = torch.from_numpy(x(n)).requires_grad_(what == "gradient")

    def primal():
        top = at.max()
        return top + torch.log(torch.sum(torch.exp(at - top)))

    return primal if what == "objective" else lambda: torch.autograd.grad(primal(), at)[0], digest
