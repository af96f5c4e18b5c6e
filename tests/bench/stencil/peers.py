"""The stencils, as array programs of whole slices."""
import numpy as np
from data import checksum, series

OF_DISTANCE = (0.25, 0.0625, 0.02, 0.0075)
TAPS = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)]


def plate(dtype, n):
    return series(n * n, 7919, dtype).reshape(n, n)


def cube(dtype, n):
    return series(n**3, 7919, dtype).reshape(n, n, n)


def inner(a, b, c):
    """The slices of a cube that are moved by (a, b, c)."""
    return tuple(slice(1 + d, d - 1 or None) for d in (a, b, c))


def numpy(kind, dtype, n, steps):
    if kind == "stencil2d":
        u = plate(dtype, n)
        buffers = u.copy(), u.copy()
        t = np.empty((n - 2, n - 2), dtype)

        def run():
            v = u
            for step in range(steps):
                w = buffers[step % 2]
                np.add(v[:-2, 1:-1], v[2:, 1:-1], out=t)
                np.add(t, v[1:-1, :-2], out=t)
                np.add(t, v[1:-1, 2:], out=t)
                np.multiply(t, t.dtype.type(0.25), out=w[1:-1, 1:-1])
                v = w
            return v
    else:
        u = cube(dtype, n)
        buffers = u.copy(), u.copy()
        t, s = np.empty((2, n - 2, n - 2, n - 2), dtype)
        weights = np.array(OF_DISTANCE, dtype)

        def run():
            v = u
            for step in range(steps):
                w = buffers[step % 2]
                for number, tap in enumerate(TAPS):
                    np.multiply(v[inner(*tap)], weights[sum(map(abs, tap))], out=s)
                    np.add(t, s, out=t) if number else np.copyto(t, s)
                w[1:-1, 1:-1, 1:-1] = t
                v = w
            return v

    return run, checksum


def torch(kind, dtype, n, steps):
    import torch
    import torch.nn.functional as F

    if kind == "stencil2d":
        u = torch.from_numpy(plate(dtype, n))

        def sweep(v):
            w = v.clone()
            w[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
            return w
    else:
        u = torch.from_numpy(cube(dtype, n))
        weights = torch.tensor([OF_DISTANCE[sum(map(abs, tap))] for tap in TAPS], dtype=u.dtype).reshape(1, 1, 3, 3, 3)

        def sweep(v):
            w = v.clone()
            w[1:-1, 1:-1, 1:-1] = F.conv3d(v[None, None], weights)[0, 0]
            return w

    def run():
        v = u
        for _ in range(steps):
            v = sweep(v)
        return v

    return run, checksum


def jax(kind, dtype, n, steps):
    import jax

    if kind == "stencil2d":
        u = jax.numpy.asarray(plate(dtype, n))

        def sweep(_, v):
            mean = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
            return v.at[1:-1, 1:-1].set(mean)
    else:
        u = jax.numpy.asarray(cube(dtype, n))

        def sweep(_, v):
            total = sum(OF_DISTANCE[sum(map(abs, tap))] * v[inner(*tap)] for tap in TAPS)
            return v.at[1:-1, 1:-1, 1:-1].set(total)

    relax = jax.jit(lambda v: jax.lax.fori_loop(0, steps, sweep, v))
    return lambda: relax(u).block_until_ready(), checksum
