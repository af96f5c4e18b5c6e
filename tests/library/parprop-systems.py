"""References of parprop-systems.sac: dense systems, NumPy's solutions of them, counts of the steps."""

import numpy as np

from cases import EPS, Table, noise, whole

table = Table()


def near(name, value, kind="double", factor=1.0):
    value = np.asarray(value)
    table.add(name, value, kind, 4, 100 * EPS[kind] * factor * float(np.max(np.abs(value), initial=0)))


def matrix(blocks, upper=False):
    """The system of y[i+1] - blocks[i] y[i], or of y[i] - blocks[i] y[i+1]."""
    k, n, _ = blocks.shape
    m = np.eye((k + 1) * n)
    for i in range(k):
        here, there = slice(i * n, (i + 1) * n), slice((i + 1) * n, (i + 2) * n)
        m[(here, there) if upper else (there, here)] = -blocks[i]
    return m


def solved(blocks, c, upper=False):
    return np.linalg.solve(matrix(blocks, upper), c.ravel()).reshape(c.shape)


def systems(k, n, kind):
    a, c, b, d = 0.4 * noise(1, (k, n, n), kind), noise(2, (k + 1, n), kind), noise(3, (2, k + 1, n), kind), noise(4, (2, k, n), kind)
    for name in ("sequence", "cyclic", "scan"):
        near(name, solved(a, c), kind)
    for name in ("upper", "cyclic", "scan"):
        near(name, solved(a, c, True), kind)
    near("jacobi", solved(a, c), kind)
    near("one step", c + np.concatenate([0 * c[:1], np.einsum("ipq,iq->ip", a, c[:-1])]), kind)
    for _ in range(4):
        near("batch", [solved(a, x) for x in b], kind)
    for name in ("upper", "cyclic", "scan"):
        near(name, [solved(a, x, True) for x in b], kind)
    for _ in range(3):
        near("shifted", [solved(a * s[:, None, :], x) for s, x in zip(d, b)], kind)
    for name in ("upper", "cyclic", "scan"):
        near(name, [solved(a * s[:, None, :], x, True) for s, x in zip(d, b)], kind)
    sums = np.abs(a).sum(2)
    table.exact("dominant", [np.all(sums < 1), np.all(0.1 * sums < 1)], "bool")


def iterations(k, n):
    a, c, w = 0.2 * noise(1, (k, n, n)), noise(2, (k + 1, n)), noise(5, (k + 1, n))
    y = solved(a, c)
    table.add("bicgstab", y, "double", 4, 1e-12 * np.linalg.cond(matrix(a)) * np.linalg.norm(y))
    table.exact("ok", [1, 1, 1], "bool")
    for upper in (False, False, True):
        m = matrix(a, upper)
        y, dc = np.linalg.solve(m, c.ravel()).reshape(c.shape), np.linalg.solve(m.T, w.ravel()).reshape(c.shape)
        near("da", np.einsum("ip,iq->ipq", dc[:-1], y[1:]) if upper else np.einsum("ip,iq->ipq", dc[1:], y[:-1]))
        near("dc", dc)


def layers_and_times(k, t, n):
    w, u, d, c = 0.4 * noise(6, (k, n, n)), 0.4 * noise(7, (k, n, n)), noise(8, (k, t, n)), noise(9, (k, t, n))
    m, back = (np.eye(k * t * n).reshape(k, t, n, k, t, n) for _ in range(2))
    for l in range(k):
        for s in range(t):
            if l > 0:
                m[l, s, :, l - 1, s, :] -= w[l] * d[l - 1, s]
                back[l - 1, s, :, l, s, :] -= d[l - 1, s][:, None] * w[l].T
            if s > 0:
                m[l, s, :, l, s - 1, :] -= u[l] * d[l, s - 1]
                back[l, s - 1, :, l, s, :] -= d[l, s - 1][:, None] * u[l].T
    size = k * t * n
    for names, system in ((("block", "scan"), m), (("upper", "scan"), back)):
        for name in names:
            near(name, np.linalg.solve(system.reshape(size, size), c.ravel()).reshape(c.shape), factor=10)


def cost(k, n, r):
    """Depth and work: counted while the steps are gone through."""
    one = 1 + int(np.ceil(np.log2(n)))
    vector, product = n * n * r, n**3
    depth, work = [k * one, 0, 0], [k * vector, 0, 0]

    def cyclic(k):
        if k:
            half = k // 2
            depth[1] += one if half else 0
            work[1] += half * (product + vector)
            cyclic(half)
            depth[1] += one
            work[1] += (k - half) * vector

    cyclic(k)
    span = 1
    while span <= k:
        depth[2] += one
        work[2] += (k + 1 - span) * vector + ((k - span) * product if 2 * span <= k else 0)
        span *= 2
    return depth, work


for k in range(10):
    depth, work = cost(k, 3, 2)
    table.exact("depth", depth, "long")
    table.exact("work", work, "long")
for k in (0, 7):
    systems(k, 2, "double")
for k in (1, 6):
    systems(k, 3, "float")
    iterations(k, 2)
    layers_and_times(k, 5, 2)
    layers_and_times(2, k, 3)
g = np.where((whole(10, (9, 9), 3) == 0) & (np.tri(9, k=-1) > 0), noise(11, (9, 9)), 0)
table.exact("ok", 1, "bool")
table.exact("order", 1, "bool")
near("dag", np.linalg.solve(np.eye(9) - g, noise(12, (9,))))
table.exact("cycle", 0, "bool")
table.exact("cycle", [0, 1, 2], "int")
table.exact("cycle", [1, np.nan, np.nan], "double")
table.write()
