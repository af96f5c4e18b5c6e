"""References of linalg-schur.sac: the matrices that the factors give back, NumPy's eigenvalues."""

import numpy as np

from cases import EPS, Table, noise

table = Table()


def near(name, value, kind, size, factor=1.0):
    value = np.asarray(value)
    table.add(name, value, kind, 0, 40 * max(len(value), 1) * EPS[kind] * factor * size)


def greatest(a):
    return float(np.max(np.abs(a), initial=0))


def factors(a, kind):
    near("a", a, kind, greatest(a))
    near("1", np.eye(len(a)), kind, 1)
    table.exact("below", 1, "bool")


def forms(a, kind="double"):
    factors(a, kind)
    near("h", 0 * a, kind, greatest(a))
    factors(a, kind)
    near("t", 0 * a, kind, greatest(a))
    table.exact("blocks", 1, "bool")
    table.exact("equal", 1, "bool")
    table.exact("pairs", 1, "bool")


def eigenvalues(a):
    """By falling magnitude, of a pair the one with positive imaginary part first; and the greatest condition of one."""
    w, v = np.linalg.eig(a)
    order = sorted(range(len(w)), key=lambda i: (-round(abs(w[i]) / (greatest(w) or 1), 10), -w[i].imag))
    w = w[order]
    return np.stack([w.real, w.imag], -1), np.linalg.cond(v) if len(w) and greatest(a) else 1


def vectors(a, own=None, factor=1.0):
    w, size = eigenvalues(a / (greatest(a) or 1))
    w = (w * greatest(a)) if own is None else own
    near("w", w, "double", greatest(w), size * factor)
    table.exact("same", 1, "bool")
    near("re", 0 * a, "double", greatest(a), factor)
    near("im", 0 * a, "double", greatest(a), factor)
    near("length", np.ones(len(a)), "double", 1)


for k, n in enumerate((0, 1, 2, 3, 6, 11)):
    a = noise(k, (n, n))
    forms(a)
    vectors(a)
n = 4
forms(noise(7, (n, n), "float"), "float")
b = noise(8, (n, n))
vectors(b + b.T)
vectors(np.triu(b))
vectors(1e200 * b)
vectors(1e-200 * b)
scale = np.array([1e8, 1, 1e-5, 1e3])
# The eigenvalues are those of b, to all digits, and are only found by balancing.
w, size = eigenvalues(b)
vectors(b * scale[:, None] / scale, own=w, factor=1)
vectors(np.zeros((n, n)), own=np.zeros((n, 2)))
forms(np.roll(np.eye(n), 1, 1))
jordan = 2 * np.eye(n) + np.diag(np.ones(n - 1), 1)
forms(jordan)
vectors(jordan, own=np.array([[2.0, 0]] * n))
nan = np.full((n, n), np.nan)
table.exact("w", nan[:, :2], "double")
table.exact("same", 1, "bool")
table.exact("re", nan, "double")
table.exact("im", nan, "double")
table.exact("length", nan[0], "double")
turn = np.diag([0.0, 0, 3, 3])
turn[0, 1], turn[1, 0] = 1, -1
forms(turn)
vectors(turn, own=np.array([[3.0, 0], [3, 0], [0, 1], [0, -1]]))
both = [eigenvalues(a) for a in noise(9, (2, n, n))]
for _ in range(2):
    near("batch", [w for w, _ in both], "double", 4, max(s for _, s in both))
table.exact("batch", np.zeros((2, n, n)), "double")
table.write()
