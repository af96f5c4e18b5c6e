"""Least squares of a polynomial: its values by a matrix of powers."""
import numpy as np
from data import digest, spread


def given(n, m):
    t = -1.0 + 2.0 * np.arange(n) / (n - 1)
    return spread(m, 1, "f8") + 0.5, t


def jax(what, n, m):
    import jax
    import jax.numpy as jnp

    x, t = map(jnp.asarray, given(n, m))

    def primal(x, t):
        powers = jnp.cumprod(jnp.concatenate([jnp.ones((n, 1)), jnp.broadcast_to(t[:, None], (n, m - 1))], 1), 1)
        return jnp.sum((jnp.sign(t) - powers @ x) ** 2) / 2

    f = jax.jit(primal if what == "objective" else jax.grad(primal))
    return lambda: f(x, t).block_until_ready(), digest


def torch(what, n, m):
    import torch

    x, t = map(torch.from_numpy, given(n, m))
    x.requires_grad_(what == "gradient")

    def primal():
        powers = torch.cumprod(torch.cat([torch.ones(n, 1, dtype=t.dtype), t[:, None].expand(n, m - 1)], 1), 1)
        return ((torch.sign(t) - powers @ x) ** 2).sum() / 2

    return primal if what == "objective" else lambda: torch.autograd.grad(primal(), x)[0], digest
