"""References of linalg-krylov.sac: NumPy's solutions; which of SciPy's solvers converge."""

import numpy as np
import scipy.sparse.linalg as sl

from cases import EPS, Table, noise

table = Table()


def symmetric(n, shift):
    a = noise(1, (n, n))
    return np.tril(a) + np.tril(a, -1).T + shift * np.eye(n)


def solved(name, a, b):
    x = np.linalg.solve(a, b)
    table.add(name, x, "double", 4, 1e-10 * np.linalg.cond(a) * np.linalg.norm(x))
    return x


def all_of(a, b):
    for solver in (sl.cg, sl.bicgstab, sl.gmres, sl.minres):
        assert np.allclose(solver(a, b, rtol=1e-10)[0], np.linalg.solve(a, b), rtol=1e-6, atol=1e-8)
    for _ in range(10):
        solved("x", a, b)
        table.exact("ok", [1, 1, 1], "bool")


def hard(*converged):
    for solver, ok in zip(("cg", "bicgstab", "gmres", "minres", "jacobi"), converged):
        table.exact(solver, [ok, 1], "bool")


for n in (1, 12):
    all_of(symmetric(n, 40), noise(2, (n,)))
    hard(1, 1, 1, 1, 1)
n = 12
b = noise(2, (n,))
hard(0, 1, 1, 1, 0)
hard(0, 0, 0, 0, 0)
hard(0, 0, 0, 0, 0)
hard(0, 0, 1, 0, 0)
hard(0, 0, 0, 0, 0)
hard(0, 0, 0, 0, 0)
hard(1, 1, 1, 1, 1)
a = np.diag(9.0 + np.arange(n)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
f = noise(2, (n,), "float")
x = np.linalg.solve(a, f)
table.add("float", x, "float", 4, 1e-5 * np.linalg.cond(a) * np.linalg.norm(x))
table.exact("ok", 1, "bool")
table.add("one", (f @ f) / (f @ a @ f) * f, "float", 40)
a, w = symmetric(n, 40), noise(4, (n,))
x, db = np.linalg.solve(a, b), np.linalg.solve(a.T, w)
for name in ("da", "ds"):
    da = -np.outer(db, x)
    table.add(name, da if name == "da" else da.ravel(), "double", 16, 1e-11 * np.max(np.abs(da)))
    table.add("db", db, "double", 16, 1e-11 * np.max(np.abs(db)))
table.write()
