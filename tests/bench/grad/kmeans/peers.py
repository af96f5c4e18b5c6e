"""k-means: squares of distances by a matrix product; Newton's step by a derivative of the gradient."""
from data import digest, spread


def given(n, k, d):
    points = spread((n, d), 1, "f8") + 0.5
    return points, points[-k:].copy()


def jax(what, n, k, d):
    import jax
    import jax.numpy as jnp

    points, centers = map(jnp.asarray, given(n, k, d))

    def cost(centers, points):
        squares = jnp.sum(points**2, 1)[None] + jnp.sum(centers**2, 1)[:, None] - 2 * centers @ points.T
        return jnp.sum(jnp.min(squares, 0))

    def step(centers, points):
        slope, curve = jax.jvp(jax.grad(lambda c: cost(c, points)), [centers], [jnp.ones_like(centers)])
        return slope / curve

    f = jax.jit(cost if what == "objective" else step)
    return lambda: f(centers, points).block_until_ready(), digest


def torch(what, n, k, d):
    import torch

    points, centers = map(torch.from_numpy, given(n, k, d))
    centers.requires_grad_(what == "gradient")

    def cost():
        squares = (points**2).sum(1)[None] + (centers**2).sum(1)[:, None] - 2 * centers @ points.T
        return squares.min(0)[0].sum()

    def step():
        (slope,) = torch.autograd.grad(cost(), centers, create_graph=True)
        (curve,) = torch.autograd.grad(slope.sum(), centers)
        return slope.detach() / curve

    return cost if what == "objective" else step, digest
