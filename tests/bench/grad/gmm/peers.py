"""A mixture of normal distributions: triangular matrices are unpacked, products are those of arrays."""
import math

import numpy as np
from data import digest, spread

GAMMA, M = 1.2, 1


def given(n, k, d):
    alpha, q = spread(k, 1, "f8") * 2, spread((k, d), 3, "f8") * 2
    mu = spread((k, d), 2, "f8") + 0.5
    return [alpha, mu, q, spread((k, d * (d - 1) // 2), 4, "f8") * 2], spread((n, d), 5, "f8") * 2


def places(d):
    """Rows and columns of what is below the diagonal, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


def constant(n, k, d):
    freedom = d + M + 1
    gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * freedom - 0.5 * j) for j in range(d))
    return -0.5 * n * d * math.log(2 * math.pi) + k * (freedom * d * math.log(GAMMA / math.sqrt(2)) - gamma)


def jax(what, n, k, d):
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    of, x = given(n, k, d)
    of, x = [jnp.asarray(a) for a in of], jnp.asarray(x)

    def likely(alpha, mu, q, l, x):
        scale, sums = jnp.exp(q), q.sum(1)
        root = jnp.zeros((k, d, d)).at[:, *places(d)].set(l)
        off = x[:, None] - mu
        y = scale * off + jnp.einsum("jrs,ijs->ijr", root, off)
        fit = logsumexp(alpha + sums - 0.5 * (y**2).sum(2), 1).sum() - n * logsumexp(alpha)
        return fit + constant(n, k, d) - 0.5 * GAMMA**2 * ((scale**2).sum() + (l**2).sum()) + M * sums.sum()

    f = jax.jit(likely if what == "objective" else jax.grad(likely, (0, 1, 2, 3)))
    if what == "objective":
        return lambda: f(*of, x).block_until_ready(), digest
    return lambda: jax.block_until_ready(f(*of, x)), flat


def torch(what, n, k, d):
    import torch

    of, x = given(n, k, d)
    of, x = [torch.from_numpy(a).requires_grad_(what == "gradient") for a in of], torch.from_numpy(x)
    rows, columns = map(torch.from_numpy, places(d))

    def likely():
        alpha, mu, q, l = of
        scale, sums = torch.exp(q), q.sum(1)
        root = torch.zeros(k, d, d, dtype=q.dtype)
        root[:, rows, columns] = l
        off = x[:, None] - mu
        y = scale * off + torch.einsum("jrs,ijs->ijr", root, off)
        fit = torch.logsumexp(alpha + sums - 0.5 * (y**2).sum(2), 1).sum() - n * torch.logsumexp(alpha, 0)
        return fit + constant(n, k, d) - 0.5 * GAMMA**2 * ((scale**2).sum() + (l**2).sum()) + M * sums.sum()

    if what == "objective":
        return likely, digest
    return lambda: torch.autograd.grad(likely(), of), flat


def flat(gradients):
    return digest(np.concatenate([np.asarray(g).ravel() for g in gradients]))
