"""References of linalg-product.sac: numpy's products."""

import numpy as np

from cases import Table, differences, noise, whole

table = Table()
REALS = ("float", "double")


def some(seed, shape, kind):
    if kind in REALS:
        return noise(seed, shape, kind)
    return np.asarray(whole(seed, shape, 7) - 3)


def summed(name, value, kind, magnitude):
    if kind in REALS:
        table.summed(name, value, kind, magnitude)
    else:
        table.exact(name, value, kind)


def products(kind):
    for s, t in (
        ((2, 3), (3, 4)),
        ((1, 1), (1, 1)),
        ((17, 15), (15, 16)),
        ((3, 0), (0, 2)),
        ((0, 3), (3, 2)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 2, 3, 1), (2, 2, 1, 4)),
        ((0, 3, 4), (0, 4, 2)),
        ((5,), (5,)),
        ((5,), (5, 16)),
        ((17, 5), (5,)),
        ((3,), (2, 3, 4)),
        ((2, 3, 4), (4,)),
        ((0,), (0,)),
        ((0,), (0, 2)),
    ):
        a, b = some(1, s, kind), some(2, t, kind)
        for _ in range(2):
            summed("matmul", np.matmul(a, b), kind, np.matmul(np.abs(a), np.abs(b)))


def back(a, b, dc):
    """The gradients of np.matmul by matrices: vectors are rows in front, columns behind."""
    left = a if a.ndim > 1 else a[None]
    right = b if b.ndim > 1 else b[:, None]
    d = dc
    if a.ndim == 1:
        d = np.expand_dims(d, -2 if b.ndim > 1 else 0)
    if b.ndim == 1:
        d = np.expand_dims(d, -1)
    da = d @ np.swapaxes(right, -1, -2)
    db = np.swapaxes(left, -1, -2) @ d
    if a.ndim == 1:
        da = da.reshape(-1, a.shape[0]).sum(0)
    if b.ndim == 1:
        db = db.reshape(-1, b.shape[0]).sum(0)
    return da.reshape(a.shape), db.reshape(b.shape)


def gradients(kind):
    for s, t in (
        ((2, 3), (3, 4)),
        ((2, 3, 4), (2, 4, 5)),
        ((5,), (5,)),
        ((5,), (5, 3)),
        ((3, 5), (5,)),
        ((3,), (2, 3, 4)),
        ((2, 3, 4), (4,)),
        ((3, 0), (0, 2)),
    ):
        a, b = some(1, s, kind), some(2, t, kind)
        dc = some(3, np.matmul(a, b).shape, kind)
        da, db = back(a, b, dc)
        assert np.allclose(da, differences(lambda x: np.sum(dc * np.matmul(x, b)), a, 0.5))
        assert np.allclose(db, differences(lambda x: np.sum(dc * np.matmul(a, x)), b, 0.5))
        for _ in range(2):
            summed("da", da, kind, 40)
            summed("db", db, kind, 40)


def transposed():
    a, b, c = noise(1, (17, 4)), noise(2, (4, 17)), noise(3, (2, 3, 4))
    turned = np.swapaxes(c, 1, 2)
    for name, x, y in (("a' b'", a.T, b.T), ("a' a", a.T, a), ("b b'", b, b.T), ("c' c", turned, c), ("c c'", c, turned)):
        summed(name, x @ y, "double", np.abs(x) @ np.abs(y))
    summed("tcrossprod", a.T @ a, "double", 70)
    summed("crossprod", b @ b.T, "double", 70)


def others(kind):
    a, m, v, w = some(1, (5, 5), kind), some(2, (4, 3), kind), some(3, (3,), kind), some(4, (4,), kind)

    def add(name, value, magnitude=70):
        summed(name, value, kind, magnitude)

    for x in (m, some(5, (17, 3), kind), some(5, (2, 0), kind)):
        add("tcrossprod", x @ x.T)
    for x in (m, some(5, (3, 17), kind), some(5, (0, 2), kind)):
        add("crossprod", x.T @ x)
    for _ in range(2):
        add("diag_pre_multiply", w[:, None] * m, 0)
    for _ in range(2):
        add("diag_post_multiply", m * v, 0)
    on = np.eye(4, 3)
    add("add_diag", m + on * v[0], 0)
    for _ in range(2):
        add("add_diag", m + on * v, 0)
    add("add_diag", m[:0], 0)
    add("scale_diagonal", a * np.where(np.eye(5), v[1], 1), 0)
    add("scale_diagonal", m * np.where(on, v[1], 1), 0)
    add("trace", np.trace(a), 10)
    add("trace", np.trace(m), 10)
    add("trace", 0)
    for shape in ((5,), (5, 2)):
        x = some(6, shape, kind)
        for _ in range(2):
            add("quad_form", x.T @ a @ x, 100)
    for k in (*range(6), 7):
        p = np.linalg.matrix_power(a, k)
        add("matrix_power", p, np.max(np.linalg.matrix_power(np.abs(a), k)))
    add("matrix_power", np.zeros((0, 0)))


for kind in ("int", *REALS):
    products(kind)
for kind in REALS:
    gradients(kind)
for kind in ("int", *REALS):
    others(kind)
transposed()
table.exact("nan", [[np.nan, np.nan], [3, 2]], "double")
table.exact("large", whole(7, (65, 130), 10) @ whole(8, (130, 33), 10), "int")
large = whole(9, (130, 5), 10)
table.exact("large", large.T @ large, "int")
table.exact("large", (large @ large.T).sum(1), "int")
table.write()
