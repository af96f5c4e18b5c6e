"""Bundle adjustment: one observation, mapped over all; blocks of 2 x 15 and the slopes of the weights' errors."""
import numpy as np
from data import digest, spread


def given(n, m, p):
    i = np.arange(p)
    cameras, points = spread((n, 11), 1, "f8"), spread((m, 3), 2, "f8") + np.array([0.0, 0.0, 3.0])
    return cameras, points, spread(p, 3, "f8") + 1, spread((p, 2), 4, "f8"), i % n, i % m


def flat(parts):
    return digest(np.concatenate([np.asarray(a).ravel() for a in parts]))


def formulas(np):
    """The errors of one observation, in a library with NumPy's functions."""

    def turned(r, x):
        theta = np.sqrt((r * r).sum())
        w = r / theta
        return x * np.cos(theta) + np.linalg.cross(w, x) * np.sin(theta) + w * ((w * x).sum() * (1 - np.cos(theta)))

    def misses(camera, x, w, feature):
        p = turned(camera[:3], x - camera[3:6])
        q = p[:2] / p[2]
        square = (q * q).sum()
        return w * (q * (1 + camera[9] * square + camera[10] * square * square) * camera[6] + camera[7:9] - feature)

    return misses


def jax(what, n, m, p):
    import jax
    import jax.numpy as jnp

    cameras, points, weights, features, i, j = [jnp.asarray(a) for a in given(n, m, p)]
    misses = formulas(jnp)

    def errors(cameras, points, weights):
        return jax.vmap(misses)(cameras[i], points[j], weights, features), 1 - weights**2

    def block(camera, x, w, feature):
        a, b, c = jax.jacrev(misses, (0, 1, 2))(camera, x, w, feature)
        return jnp.concatenate([a, b, c[:, None]], 1)

    def matrix(cameras, points, weights):
        return jax.vmap(block)(cameras[i], points[j], weights, features), -2 * weights

    f = jax.jit(errors if what == "objective" else matrix)
    return lambda: jax.block_until_ready(f(cameras, points, weights)), flat


def torch(what, n, m, p):
    import torch

    cameras, points, weights, features, i, j = map(torch.from_numpy, given(n, m, p))
    misses = formulas(torch)

    def errors():
        return torch.func.vmap(misses)(cameras[i], points[j], weights, features), 1 - weights**2

    def block(camera, x, w, feature):
        a, b, c = torch.func.jacrev(misses, (0, 1, 2))(camera, x, w, feature)
        return torch.cat([a, b, c[:, None]], 1)

    def matrix():
        return torch.func.vmap(block)(cameras[i], points[j], weights, features), -2 * weights

    run = errors if what == "objective" else matrix
    return run, flat, run
