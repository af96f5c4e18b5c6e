"""k-means: a matrix of distances, or loops in Numba."""
import numpy as np
from data import checksum, datum


def cloud(dtype, n, k):
    i, j = np.arange(n)[:, None], np.arange(3)
    return ((i + 2 * j) % k + datum(3 * i + j, 7919) * datum(i, 104729)).astype(dtype)


def numpy(dtype, n, k, steps):
    points = cloud(dtype, n, k)

    def run():
        centers = points[:k]
        for _ in range(steps):
            distance = sum((points[:, j, None] - centers[:, j]) ** 2 for j in range(3))
            owner = distance.argmin(1)
            members = np.bincount(owner, minlength=k)
            total = np.stack([np.bincount(owner, points[:, j], k) for j in range(3)], 1)
            centers = np.where(members[:, None] > 0, total / np.maximum(members, 1)[:, None], centers).astype(dtype)
        return centers

    return run, checksum


def torch(dtype, n, k, steps):
    import torch

    points = torch.from_numpy(cloud(dtype, n, k))

    def run():
        centers = points[:k]
        for _ in range(steps):
            owner = sum((points[:, j, None] - centers[:, j]) ** 2 for j in range(3)).argmin(1)
            members = torch.bincount(owner, minlength=k)[:, None]
            total = torch.zeros_like(centers).index_add_(0, owner, points)
            centers = torch.where(members > 0, total / members.clamp(min=1), centers)
        return centers

    return run, checksum


def jax(dtype, n, k, steps):
    import jax
    import jax.numpy as jnp

    points = jnp.asarray(cloud(dtype, n, k))

    @jax.jit
    def kmeans(points):
        def improve(_, centers):
            owner = sum((points[:, j, None] - centers[:, j]) ** 2 for j in range(3)).argmin(1)
            # The number of a center as a row of ones and zeros: sums become matrix products.
            mine = jax.nn.one_hot(owner, k, dtype=points.dtype)
            members = mine.sum(0)[:, None]
            return jnp.where(members > 0, mine.T @ points / jnp.maximum(members, 1), centers)

        return jax.lax.fori_loop(0, steps, improve, points[:k])

    return lambda: kmeans(points).block_until_ready(), checksum


def numba(dtype, n, k, steps):
    import numba

    points = cloud(dtype, n, k)
    real = np.dtype(dtype).type

    @numba.njit(fastmath=True, parallel=True)
    def owners(points, centers, owner):
        for i in numba.prange(n):
            best, least = 0, real(np.inf)
            for c in range(k):
                distance = real(0)
                for j in range(3):
                    x = points[i, j] - centers[c, j]
                    distance += x * x
                if distance < least:
                    best, least = c, distance
            owner[i] = best

    @numba.njit(fastmath=True)
    def kmeans(points):
        centers = points[:k].copy()
        owner = np.empty(n, np.int32)
        for _ in range(steps):
            owners(points, centers, owner)
            total = np.zeros((k, 3), points.dtype)
            members = np.zeros(k, np.int32)
            for i in range(n):
                total[owner[i]] += points[i]
                members[owner[i]] += 1
            for c in range(k):
                if members[c] > 0:
                    centers[c] = total[c] / members[c]
        return centers

    return lambda: kmeans(points), checksum
