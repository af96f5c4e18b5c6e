"""References of linalg-views.sac: numpy and scipy on the matrices that the views show."""

import numpy as np
from scipy.linalg import solve_banded

from cases import EPS, Table, differences, noise

table = Table()


def strong(seed, n, kind):
    return noise(seed, (n, n), kind) + (2 * n + 3) * np.eye(n)


def from_bands(bands, below):
    """The matrix: element i, j is bands[above + i - j, j]."""
    u, n = bands.shape
    above = u - 1 - below
    a = np.zeros((n, n))
    for r in range(u):
        for j in range(n):
            i = r - above + j
            if 0 <= i < n:
                a[i, j] = bands[r, j]
    return a


def to_bands(a, u, below):
    n = len(a)
    above = u - 1 - below
    return np.array([[a[r - above + j, j] if 0 <= r - above + j < n else 0 for j in range(n)] for r in range(u)]).reshape(u, n)


def weights(x, kind):
    """What stands for a large result: sums with weights."""
    if x.ndim == 1:
        return [noise(21, x.shape, kind) @ x] if len(x) > 20 else x
    if x.size <= 60:
        return x
    m, n = x.shape
    return [noise(21, (m,), kind) @ x @ np.ones(n), np.ones(m) @ x @ noise(22, (n,), kind)]


class Reporter:
    def __init__(self, kind):
        self.kind = kind

    def add(self, name, value, off=0.0):
        """off: what an element may be off."""
        value = np.asarray(value, dtype=float)
        shown = value
        if value.ndim and (value.size > 60 or (value.ndim == 1 and value.size > 20)):
            shown = weights(value, self.kind)
            off = max(off, EPS[self.kind] * np.max(np.abs(value))) * 4 * value.size
        table.add(name, shown, self.kind, 4, off)

    def product(self, name, *factors):
        sizes = np.abs(factors[0])
        value = factors[0]
        for f in factors[1:]:
            value, sizes = value @ f, sizes @ np.abs(f)
        self.add(name, value, 8 * EPS[self.kind] * np.max(sizes, initial=0))

    def solved(self, name, a, x):
        n = max(len(a), 1)
        cond = np.linalg.cond(a) if len(a) else 1
        self.add(name, x, 10 * n * EPS[self.kind] * cond * np.max(np.abs(x), initial=0))


def mirrored(a):
    return np.tril(a) + np.tril(a, -1).T


def kinds(n, kind):
    to = Reporter(kind)
    a, b, c, v = strong(1, n, kind), noise(2, (n, 3), kind), noise(3, (2, n), kind), noise(4, (n,), kind)
    lower, upper, full = np.tril(a), np.triu(a), mirrored(a)
    d, bands = np.diag(v), noise(5, (4, n), kind)
    e = from_bands(bands, 1)
    to.add("lower", lower)
    to.add("upper", upper)
    to.add("symmetric", full)
    to.add("packed", full)
    to.add("unpacked", lower)
    to.add("diagonal", d)
    to.add("banded", e)
    for x in (lower, upper, e):
        to.add("transpose", x.T)
    for name, x in (("lower", lower), ("upper", upper), ("symmetric", full), ("diagonal", d), ("banded", e), ("packed", full)):
        to.product(name + " b", x, b)
    for name, x in (("lower", lower), ("upper", upper), ("banded", e), ("packed", full)):
        to.product("c " + name, c, x)
    for name, x in (("lower", lower), ("upper", upper), ("banded", e), ("packed", full)):
        to.product(name + " v", x, v)
    for name, x in (("lower", lower), ("upper", upper), ("banded", e)):
        to.product("v " + name, v, x)
    to.product("lower lower", lower, lower)
    to.product("upper upper", upper, upper)
    to.product("lower upper", lower, upper)
    to.product("upper lower", upper, lower)
    to.product("diagonal lower", d, lower)
    to.product("upper diagonal", upper, d)
    to.product("diagonal banded", d, e)
    to.product("banded diagonal", e, d)
    to.product("banded banded", e, e.T)
    to.product("lower banded", lower, e)
    to.product("tcrossprod", lower, lower.T)
    to.product("crossprod", lower.T, lower)
    to.solved("solve lower", lower, np.linalg.solve(lower, b))
    to.solved("solve upper", upper, np.linalg.solve(upper, b))
    to.solved("solve symmetric", full, np.linalg.solve(full, b))
    f = from_bands(bands + 3, 1)
    to.solved("solve banded", f, np.linalg.solve(f, b))
    for name, x in (("lower", lower), ("upper", upper), ("symmetric", full)):
        to.solved("inv " + name, x, np.linalg.inv(x))
    if n < 20:
        to.add("det banded", np.linalg.det(e), 1e3 * EPS[kind] * np.prod(np.linalg.norm(e, axis=1)))
    else:
        to.add("det banded", 0)
    t = noise(6, (n,), kind)
    f = np.diag(t + 5) + np.diag(t[1:], -1) + np.diag(v[:-1], 1) if n else np.zeros((0, 0))
    to.solved("tridiagonal", f, np.linalg.solve(f, b))


def rest():
    to = Reporter("double")
    a, b, c, v = strong(1, 5, "double"), noise(2, (5, 3)), noise(3, (2, 5)), noise(4, (5,))
    view = {"lower": np.tril(a), "upper": np.triu(a), "symmetric": mirrored(a), "packed": mirrored(a), "diagonal": np.diag(v)}
    view["banded"] = from_bands(noise(5, (4, 5)), 2)
    table.exact("rows", 555555, "int")
    to.add("elements", a[np.tril_indices(5)])
    view |= {"b": b, "c": c, "v": v}

    def products(*pairs):
        for pair in pairs:
            x, y = pair.split()
            to.product(pair, view[x], view[y])

    products("c symmetric", "c diagonal", "symmetric v", "diagonal v", "v symmetric", "v diagonal", "v packed")
    for kind in ("symmetric", "diagonal", "packed"):
        to.add("transpose", view[kind])
    products("diagonal diagonal", "diagonal upper", "lower diagonal", "diagonal symmetric", "diagonal packed")
    products("symmetric diagonal", "packed diagonal", "banded lower", "banded upper", "banded symmetric", "banded packed")
    products("upper banded", "symmetric banded", "packed banded", "lower symmetric", "lower packed", "upper symmetric")
    products("upper packed", "symmetric lower", "packed lower", "symmetric upper", "packed upper", "symmetric symmetric")
    products("symmetric packed", "packed symmetric", "packed packed")
    upper = view["upper"]
    to.product("tcrossprod", upper, upper.T)
    to.product("crossprod", upper.T, upper)
    for pair in ("diagonal b", "packed b", "lower v", "upper v", "symmetric v", "packed v", "diagonal v", "banded v"):
        x, y = pair.split()
        to.solved("solve " + x, view[x], np.linalg.solve(view[x], view[y]))
    to.solved("lower over lower", view["lower"], np.linalg.solve(view["lower"], np.tril(b[0, 0] + a)))
    to.solved("upper over upper", upper, np.linalg.solve(upper, np.triu(b[0, 0] + a)))
    to.add("diagonal over diagonal", np.diag((v + 1) / v))
    for kind in ("diagonal", "banded", "packed"):
        to.solved("inv " + kind, view[kind], np.linalg.inv(view[kind]))
    for kind in ("lower", "upper", "symmetric", "diagonal", "packed"):
        det = np.linalg.det(view[kind])
        to.add("det " + kind, det, 100 * EPS["double"] * abs(det))
    for _ in range(2):
        to.solved("cholesky", view["symmetric"], np.linalg.cholesky(view["symmetric"]))
    table.exact("ok", 1, "bool")
    table.exact("ok", 0, "bool")
    indefinite = mirrored(noise(7, (5, 5)))
    to.solved("indefinite", indefinite, np.linalg.solve(indefinite, v))
    to.solved("indefinite", indefinite, np.linalg.inv(indefinite))


def tridiagonal(lo, mid, up):
    return np.diag(mid) + np.diag(lo[1:], -1) + np.diag(up[:-1], 1)


def checked(value, f, x):
    """A gradient from the adjoint system, compared with differences."""
    slope = differences(f, x)
    assert np.allclose(value, slope, rtol=1e-4, atol=1e-5 * np.max(np.abs(slope), initial=1)), (value, slope)
    return value


def bands():
    to = Reporter("double")
    for u in range(1, 6):
        for below in range(u):
            a = noise(u, (u, 7)) + (3 if u == below + 1 else 0)
            to.product("bands", from_bands(a, below), noise(8, (7,)))
            to.add("bands", from_bands(a, below))
            to.add("bands", to_bands(from_bands(a, below).T, u, u - 1 - below))
    for n in (1, 10, 19):
        a, b, seed = noise(9, (5, n)), noise(10, (n, 2)), noise(11, (n, 2))
        whole = from_bands(a, 2)

        def solved(name, value):
            scale = np.linalg.cond(whole)
            table.add(name, value, "double", 4, 10 * n * EPS["double"] * scale * max(scale, 1) * np.max(np.abs(value)))

        def back(b, seed):
            x = np.linalg.solve(whole, b)
            db = np.linalg.solve(whole.T, seed)
            da = to_bands(-np.outer(db, x) if b.ndim == 1 else -db @ x.T, 5, 2)
            checked(da, lambda a: np.sum(seed * np.linalg.solve(from_bands(a, 2), b)), a)
            checked(db, lambda b: np.sum(seed * np.linalg.solve(whole, b)), b)
            solved("da", da)
            solved("db", db)

        if n > 2:
            assert np.allclose(solve_banded((2, 2), a, b), np.linalg.solve(whole, b))
        to.solved("exchange", whole, np.linalg.solve(whole, b))
        table.exact("ok", 1, "bool")
        back(b, seed)
        det = np.linalg.det(whole)
        to.add("det", det, 10 * n * EPS["double"] * np.linalg.cond(whole) * abs(det))
        v = noise(12, (n,))
        back(v, b[:, 0])
        lo, mid = noise(13, (n,)), noise(14, (n,)) + 5
        t = tridiagonal(lo, mid, v)
        table.exact("ok", 1, "bool")
        x = np.linalg.solve(t, b)
        to.solved("tridiagonal", t, x)
        to.solved("cyclic", t, x)
        db = np.linalg.solve(t.T, seed)
        dt = -db @ x.T
        values = np.append(0, np.diag(dt, -1)), np.diag(dt), np.append(np.diag(dt, 1), 0), db
        for k, name in enumerate(("dlo", "dmid", "dup", "db")):
            arguments = [lo, mid, v, b]

            def loss(y):
                new = [y if k == i else z for i, z in enumerate(arguments)]
                return np.sum(seed * np.linalg.solve(tridiagonal(*new[:3]), new[3]))

            to.solved(name, t, checked(values[k], loss, arguments[k]))
        db = np.linalg.solve(t.T, b[:, 1])
        to.solved("dmid", t, -db * x[:, 0])
        to.solved("db", t, db)
        to.solved("tridiagonal", t, np.linalg.solve(t, v))
    table.exact("ok", 0, "bool")
    table.exact("singular", [np.nan] * 3, "double")
    t = tridiagonal([0, 2, 1], [4, 6, 5], [2, 1, 0])
    to.solved("cyclic", t, np.linalg.solve(t, [2, 6, -2]))
    table.exact("ok", 0, "bool")
    table.exact("singular", [np.nan] * 2, "double")


for n in (0, 1, 3, 17, 130):
    kinds(n, "double")
for n in (2, 16):
    kinds(n, "float")
rest()
bands()
table.exact("not read", [[1, 0], [2, 3]], "double")
table.exact("not read", [[2, 1], [4, 3]], "double")
table.write()
