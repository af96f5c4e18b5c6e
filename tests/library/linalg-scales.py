"""References of linalg-scales.sac: NumPy and SciPy at scale one; scales are powers of two."""

import numpy as np
import scipy.linalg as sl

from cases import EPS, Table, noise

table = Table()


def near(name, value, kind, n, factor=1.0):
    value = np.asarray(value)
    table.add(name, value, kind, rel=4, absolute=10 * n * EPS[kind] * factor * float(np.max(np.abs(value), initial=0)))


def norms(name, x, kind):
    table.elementwise(name, np.linalg.norm(x), kind, 8)
    table.elementwise("l2norm", np.linalg.norm(x), kind, 8)
    # The rounding of 1/p counts as often as the logarithm of the sum.
    for p in 3, 1.5, -2:
        table.elementwise(f"norm_p {p}", np.linalg.norm(x, ord=p), kind, 300)


def factors(name, a, kind):
    m, n = a.shape
    q, r = np.linalg.qr(a)
    near(name, r, kind, m)
    near("q", q, kind, m, np.linalg.cond(a))
    _, r, perm = sl.qr(a, mode="economic", pivoting=True)
    near("pivoted", r, kind, m)
    table.exact("perm", perm, "int")
    near("lstsq", np.linalg.lstsq(a, np.arange(1.0, m + 1), rcond=None)[0], kind, m, np.linalg.cond(a) ** 2)
    near("shortest", np.linalg.lstsq(a.T, np.arange(1.0, n + 1), rcond=None)[0], kind, m, np.linalg.cond(a) ** 2)
    near("svd", np.linalg.svd(a, compute_uv=False), kind, m)
    table.elementwise("norms of rows", np.linalg.norm(a, axis=1), kind, 8)


def graded(a, kind):
    """Columns that are small beside others by a whole range: exactly like zero to all columns on their left, and they see those reflected."""
    n = a.shape[1]
    near("graded", np.eye(n), kind, n)
    r = np.linalg.qr(a)[1]
    near("r", r, kind, n, np.linalg.cond(a))
    for name in "u'u", "vv'", "eigenvectors":
        near(name, np.eye(n), kind, n)


norms("double up", noise(1, (11,)), "double")
norms("double down", noise(2, (11,)), "double")
table.exact("double least", 85.0, "double")
factors("double up", noise(3, (6, 4)), "double")
factors("double down", noise(4, (6, 4)), "double")
graded(noise(5, (6, 6)), "double")
table.exact("zero", 0.0, "double")
table.exact("NaN", np.nan, "double")
table.exact("infinite", np.inf, "double")
norms("float up", noise(6, (11,), "float"), "float")
norms("float down", noise(7, (11,), "float"), "float")
factors("float up", noise(8, (6, 4), "float"), "float")
factors("float down", noise(9, (6, 4), "float"), "float")
graded(noise(10, (6, 6), "float"), "float")
table.write()
