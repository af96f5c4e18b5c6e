"""References of linalg-more.sac: NumPy and SciPy; gradients of least squares by differences along changes that keep the rank."""

import numpy as np
import scipy.linalg as sl

from cases import EPS, Table, differences, noise

table = Table()


def near(name, value, factor=1.0):
    value = np.asarray(value)
    if np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], -1)
    table.add(name, value, "double", 4, 200 * EPS["double"] * factor * float(np.max(np.abs(value), initial=0)))


def made(seed, shape):
    x = noise(seed, (*shape, 2))
    return x[..., 0] + 1j * x[..., 1]


def of_complex(n):
    a, b = made(1, (n, n)), made(4, (2, n, n))
    size = max(np.linalg.cond(a), *np.linalg.cond(b))
    near("solve", np.linalg.solve(a, made(2, (n, 2))), size)
    near("solve", np.linalg.solve(a, made(3, (n,))), size)
    near("inv", np.linalg.inv(a), size)
    near("det", np.linalg.det(a), size)
    near("batch", np.linalg.solve(b, made(5, (2, n, 1))), size)
    table.exact("ok", [1, 1], "bool")
    near("batch", np.linalg.inv(b), size)
    near("batch", np.linalg.det(b), size)


def of_dependent(m, n):
    c, d, b, w = noise(6, (m, 2)), noise(7, (2, n)), noise(8, (m, 3)), noise(9, (n, 3))
    a = c @ d
    s = np.linalg.svd(a, compute_uv=False)
    kept = s[s > 1e-12 * s[0]]
    size = (kept[0] / kept[-1]) ** 2
    x = np.linalg.lstsq(a, b, rcond=None)[0]
    near("lstsq", x, size)
    near("lstsq", x[:, 1], size)

    def loss(c, d, b):
        return np.sum(w * np.linalg.lstsq(c @ d, b, rcond=None)[0])

    for name, slope in (
        ("dc", differences(lambda c: loss(c, d, b), c)),
        ("dd", differences(lambda d: loss(c, d, b), d)),
        ("db", differences(lambda b: loss(c, d, b), b)),
    ):
        table.add(name, slope, "double", 0, 1e-7 * size * max(1, np.max(np.abs(slope))))


def of_batches(n):
    a, b = noise(10, (2, n, n)), noise(11, (2, n, 2))
    s = np.tril(a) + np.swapaxes(np.tril(a, -1), 1, 2) + 9 * np.eye(n)
    l = np.linalg.cholesky(s)
    size = max(np.linalg.cond(a))
    near("tri_inv", np.linalg.inv(l))
    near("tri_inv_upper", np.linalg.inv(np.triu(s)))
    near("tri_solve", np.linalg.solve(l, b))
    near("tri_solve_upper", np.linalg.solve(np.triu(s), b))
    near("cho_solve", np.linalg.solve(s, b))
    factors = [sl.lu_factor(x) for x in a]
    near("lu", [f for f, _ in factors], size)
    perms = []
    for _, pivots in factors:
        perm = np.arange(n)
        for i, p in enumerate(pivots):
            perm[[i, p]] = perm[[p, i]]
        perms.append(perm)
    table.exact("perm", perms, "int")
    near("lu_solve", np.linalg.solve(a, b), size)
    near("ldl", np.diagonal(l, axis1=1, axis2=2) ** 2)
    pivoted = [sl.qr(x, mode="economic", pivoting=True) for x in a]
    near("pivoted", [np.abs(r) for _, r, _ in pivoted], size)
    table.exact("order", [p for _, _, p in pivoted], "int")
    near("expm", sl.expm(0.3 * a))
    near("sqrtm", [sl.sqrtm(x) for x in s])
    near("polar", [sl.polar(x)[1] for x in a], size)
    near("power", np.linalg.matrix_power(a, 3))
    near("trace", np.trace(a, axis1=1, axis2=2))
    near("norms", [np.linalg.norm(a, k, (1, 2)) for k in (1, np.inf, 2, "nuc")])
    near("lstsq", np.linalg.solve(a, b), size)


def of_gradients(n):
    a, w = noise(13, (n, n)), noise(14, (n, n))

    def sloped(name, f, x, step=1e-5):
        slope = differences(f, x, step)
        table.add(name, slope, "double", 0, 1e-7 * max(1, np.max(np.abs(slope))))

    sloped("expm", lambda a: np.sum(w * sl.expm(a)), a)
    sloped("expm", lambda a: np.sum(1000 * w * sl.expm(4 * a)), a)
    s = np.tril(a) + np.tril(a, -1).T + 9 * np.eye(n)
    sloped("sqrtm", lambda s: np.sum(w * sl.sqrtm(np.tril(s) + np.tril(s, -1).T)), s)
    sloped("pinv", lambda b: np.sum(noise(15, (n, 2)) * np.linalg.pinv(b)), noise(16, (2, n)))
    sloped("pinv", lambda b: np.sum(noise(15, (n, n + 2)) * np.linalg.pinv(b)), noise(16, (n + 2, n)))


for n in (1, 4):
    of_complex(n)
table.exact("ok", 0, "bool")
table.exact("singular", np.full((2, 2), np.nan), "double")
table.exact("none", [1, 0], "double")
for n in (1, 4):
    of_dependent(6, n)
    of_dependent(4, 4 + n)
    of_batches(n)
    of_gradients(n)
table.exact("zero", np.zeros((2, 1)), "float")
near_float = np.linalg.lstsq(np.array([[1.0, 2], [2, 4], [3, 6]]), np.array([1.0, 2, 4]), rcond=None)[0]
table.add("float", near_float, "float", 40)
table.write()
