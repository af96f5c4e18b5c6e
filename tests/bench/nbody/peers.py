"""All pairs of bodies: blocks of whole matrices, or loops in Numba."""
import numpy as np
from data import checksum, series

SOFTENING = 1e-3
DT = 0.01
BLOCK = 256


def bodies(dtype, n):
    position = np.stack([series(n, k) for k in (7919, 7921, 7923)]).astype(dtype)
    velocity = np.stack([series(n, 104729), np.zeros(n), -np.ones(n)]).astype(dtype)
    return position, velocity, ((series(n, 104723) + 0.5) / n).astype(dtype)


def check(moved):
    position, velocity = map(np.asarray, moved)
    return checksum(velocity[0]) + checksum(velocity[1]) + checksum(position[2])


def blockwise(position, velocity, mass, xp, sum_pairs):
    """One step; sum_pairs adds up a matrix of pulls along its last axis."""
    parts = []
    for start in range(0, len(mass), BLOCK):
        d = position[:, None, :] - position[:, start : start + BLOCK, None]
        r2 = (d * d).sum(0) + SOFTENING
        parts.append(sum_pairs((mass / (r2 * xp.sqrt(r2))) * d))
    moved = velocity + DT * xp.concatenate(parts, 1)
    return position + DT * moved, moved


def numpy(dtype, n):
    position, velocity, mass = bodies(dtype, n)
    return lambda: blockwise(position, velocity, mass, np, lambda pulls: pulls.sum(2)), check


def torch(dtype, n):
    import torch

    position, velocity, mass = map(torch.from_numpy, bodies(dtype, n))
    return lambda: blockwise(position, velocity, mass, torch, lambda pulls: pulls.sum(2)), check


def jax(dtype, n):
    import jax
    import jax.numpy as jnp

    state = tuple(map(jnp.asarray, bodies(dtype, n)))

    @jax.jit
    def step(position, velocity, mass):
        # One matrix of all pairs: XLA fuses it into the sums.
        d = position[:, None, :] - position[:, :, None]
        r2 = (d * d).sum(0) + SOFTENING
        moved = velocity + DT * ((mass / (r2 * jnp.sqrt(r2))) * d).sum(2)
        return position + DT * moved, moved

    return lambda: jax.block_until_ready(step(*state)), check


def numba(dtype, n):
    import math

    import numba

    position, velocity, mass = bodies(dtype, n)
    real = np.dtype(dtype).type
    softening, dt = real(SOFTENING), real(DT)

    @numba.njit(fastmath=True, parallel=True)
    def step(x, y, z, velocity, mass):
        moved_to, moved = np.empty_like(velocity), np.empty_like(velocity)
        for i in numba.prange(n):
            ax = ay = az = real(0)
            for j in range(n):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                r2 = dx * dx + dy * dy + dz * dz + softening
                k = mass[j] / (r2 * math.sqrt(r2))
                ax += k * dx
                ay += k * dy
                az += k * dz
            moved[0, i] = velocity[0, i] + ax * dt
            moved[1, i] = velocity[1, i] + ay * dt
            moved[2, i] = velocity[2, i] + az * dt
            moved_to[0, i] = x[i] + moved[0, i] * dt
            moved_to[1, i] = y[i] + moved[1, i] * dt
            moved_to[2, i] = z[i] + moved[2, i] * dt
        return moved_to, moved

    return lambda: step(position[0], position[1], position[2], velocity, mass), check
