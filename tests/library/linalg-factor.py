"""References of linalg-factor.sac: SciPy's factors and solutions, PyTorch's gradients, all in double precision."""

import numpy as np
import scipy.linalg as sl
import torch

from cases import EPS, Table, noise

table = Table()
NAN = np.nan


def near(name, value, kind, n, factor=1.0):
    """Within 10 n roundings of the greatest element, times what the problem's condition makes of them."""
    value = np.asarray(value)
    finite = np.abs(value[np.isfinite(value)])
    table.add(name, value, kind, rel=4, absolute=10 * max(n, 1) * EPS[kind] * factor * float(np.max(finite, initial=0)))


def order(piv, m):
    perm = np.arange(m)
    for i, p in enumerate(piv):
        perm[[i, p]] = perm[[p, i]]
    return perm


def gradients(f, arguments, *seeds):
    """Gradients of the sum of f(arguments) * seeds, which must agree with differences in one direction."""

    def loss(tensors):
        results = f(*tensors)
        results = results if isinstance(results, tuple) else (results,)
        return sum((r * torch.tensor(s)).sum() for r, s in zip(results, seeds))

    tensors = [torch.tensor(x, requires_grad=True) for x in arguments]
    loss(tensors).backward()
    grads = [t.grad.numpy() for t in tensors]
    ways = [noise(11, x.shape) * 1e-6 for x in arguments]
    far, near = (float(loss([torch.tensor(x + h * w) for x, w in zip(arguments, ways)])) for h in (1, -1))
    expected = 2 * sum(float(np.sum(g * w)) for g, w in zip(grads, ways))
    size = 1 + max(np.max(np.abs(g), initial=0) for g in grads)
    assert abs(far - near - expected) < 1e-10 * size * (1 + max(np.max(np.abs(g), initial=0) for g in grads)), (far - near, expected)
    return grads


def from_lower(t):
    return torch.linalg.cholesky(torch.tril(t) + torch.tril(t, -1).T)


def definite(a, kind):
    n = len(a)
    spd = np.tril(a + a.T, -1)
    spd = spd + spd.T + np.diag(np.diag(a) + 4 * n)

    def add(name, value, factor=1.0):
        near(name, value, kind, n, factor)

    l = np.linalg.cholesky(spd)
    add("cholesky", l)
    table.exact("ok", True, "bool")
    dl = noise(5, (n, n), kind)
    back = gradients(from_lower, [spd], dl)[0] if n else spd
    add("cholesky_back", np.tril(back))
    add("cholesky_back whole", np.tril(back))
    d = np.diag(l)
    unit = l / d
    add("ldl l", unit)
    add("ldl d", d * d)
    table.exact("ok", True, "bool")
    b = noise(6, (n, 3), kind)
    dx = noise(7, (n, 3), kind)

    def both(name, f):
        add(name, f(b))
        add(name + " vector", f(b[:, :1])[:, 0])

    both("cho_solve", lambda x: np.linalg.solve(spd, x))
    add("tri_inv", np.linalg.inv(l))
    add("tri_inv_upper", np.linalg.inv(l.T))
    both("tri_solve", lambda x: np.linalg.solve(l, x))
    both("tri_solve_transposed", lambda x: np.linalg.solve(l.T, x))
    both("tri_solve_upper", lambda x: np.linalg.solve(l.T, x))
    both("tri_solve_unit", lambda x: np.linalg.solve(unit, x))
    for name, letter, t, upper in (("tri_solve_back", "dl", l, False), ("tri_solve_upper_back", "du", l.T, True)):
        for suffix, columns in (("", slice(0, 3)), (" vector", slice(0, 1))):
            x, s = b[:, columns], dx[:, columns]
            if n:
                dt, db = gradients(lambda t, x: torch.linalg.solve_triangular(t, x, upper=upper), [t, x], s)
                dt = np.triu(dt) if upper else np.tril(dt)
            else:
                dt, db = t, x
            add(f"{name}{suffix} {letter}", dt)
            add(f"{name}{suffix} db", db[:, 0] if suffix else db)


def factored(a):
    if a.size == 0:
        return a, np.arange(len(a))
    f, piv = sl.lu_factor(a)
    return f, order(piv, len(a))


def general(a, kind):
    n = len(a)
    cond = np.linalg.cond(a) if n else 1.0

    def add(name, value):
        near(name, value, kind, n, cond)

    f, perm = factored(a)
    add("lu", f)
    table.exact("perm", perm, "int")
    table.exact("ok", True, "bool")
    b = noise(6, (n, 3), kind)
    dx = noise(7, (n, 3), kind)
    add("solve", np.linalg.solve(a, b))
    add("solve vector", np.linalg.solve(a, b[:, 0]))
    for suffix, columns in (("", slice(0, 3)), (" vector", slice(0, 1))):
        da, db = gradients(torch.linalg.solve, [a, b[:, columns]], dx[:, columns])
        add(f"solve_back{suffix} da", da)
        add(f"solve_back{suffix} db", db[:, 0] if suffix else db)
    add("inv", np.linalg.inv(a))
    near("inv_back", gradients(torch.linalg.inv, [a], noise(9, (n, n), kind))[0], kind, n, cond)
    c = a / max(n, 1)
    add("det", np.linalg.det(c))
    add("det_back", gradients(torch.linalg.det, [c], 2.0)[0])
    add("slogdet_back", gradients(lambda x: torch.linalg.slogdet(x)[1], [a], 2.0)[0])
    sign, log = np.linalg.slogdet(a)
    table.exact("slogdet sign", sign, kind)
    near("slogdet", log, kind, n, cond)


def rectangular(shape, kind):
    a = noise(1, shape, kind)
    m, n = shape
    k = min(m, n)
    cond = np.linalg.cond(a) if k else 1.0

    def add(name, value, factor=cond):
        near(name, value, kind, max(m, n), factor)

    q, r = np.linalg.qr(a)
    add("q", q)
    add("r", r)
    add("r alone", r)
    q, r, perm = sl.qr(a, mode="economic", pivoting=True) if k else (q, r, np.arange(n))
    add("q pivoted", q)
    add("r pivoted", r)
    table.exact("perm", perm, "int")
    b = noise(8, (m, 2), kind)
    x = np.linalg.lstsq(a, b, rcond=None)[0]
    add("lstsq", x)
    add("lstsq vector", x[:, 0])
    add("pinv", np.linalg.pinv(a))
    table.exact("rank", k, "int")
    f, perm = factored(a)
    add("lu", f)
    table.exact("perm", perm, "int")


def reflected(shape):
    a = noise(1, shape)
    n = shape[1]
    f = lambda x: tuple(torch.linalg.qr(x))
    da = gradients(f, [a], noise(5, shape), np.triu(noise(6, (n, n))))[0]
    near("qr_back", da, "double", shape[0], np.linalg.cond(a))


def strips(shape):
    a = noise(1, shape)
    m, n = shape
    y = noise(3, (n,))
    near("r of many columns", np.linalg.qr(a)[1] @ y, "double", n, np.linalg.cond(a))
    x = y
    for i in (2, 1, 0):
        v = np.array([0.0 if j < i else 1.0 if j == i else y[(i + j) % n] for j in range(n)])
        x = x - 2 / (v @ v) * v * (v @ x)
    near("many reflections", x, "double", n)


def square(n, kind):
    a = noise(1, (n, n), kind)
    definite(a, kind)
    general(a, kind)


for n in (0, 1, 2, 15, 16, 65):
    square(n, "double")
square(17, "float")
for shape in ((5, 3), (3, 5), (70, 66), (0, 3), (3, 0)):
    rectangular(shape, "double")
rectangular((17, 16), "float")
strips((66, 400))
reflected((7, 4))
reflected((17, 17))

a = noise(3, (2, 3, 4, 4))
spd = a + np.swapaxes(a, -1, -2)
spd[..., range(4), range(4)] = 16
l = np.linalg.cholesky(spd)
l[1, 2, 3, 3] = NAN
near("cholesky batch", l, "double", 4)
table.exact("ok batch", [[1, 1, 1], [1, 1, 0]], "bool")
cond = np.max(np.linalg.cond(a))
near("solve batch", np.linalg.solve(a, noise(4, (2, 3, 4, 2))), "double", 4, cond)
near("inv batch", np.linalg.inv(a), "double", 4, cond)
near("det batch", np.linalg.det(a), "double", 4, cond)
table.exact("solve batch ok", [[1, 0, 1], [1, 1, 1]], "bool")
near("solve batch first", np.linalg.solve(a[0, 0], noise(4, (2, 3, 4, 2))[0, 0]), "double", 4, cond)
table.exact("inv batch ok", [[1, 0, 1], [1, 1, 1]], "bool")
table.exact("inv batch singular", np.full((4, 4), NAN), "double")
sign, log = np.linalg.slogdet(a)
sign[0, 1] = 0
table.exact("slogdet batch sign", sign, "double")
near("slogdet batch", log[1], "double", 4, cond)
wide, narrow = noise(3, (2, 2, 3, 5)), noise(4, (3, 5, 3), "float")
wide[1, 0, 2] = wide[1, 0, 0]
cond, few = 20.0, float(np.max(np.linalg.cond(narrow)))
for label, a, kind in (("", wide, "double"), (" narrow", narrow, "float")):
    for letter, value in zip("qr", np.linalg.qr(a)):
        near(f"{letter} batch{label}", value, kind, 5, cond if kind == "double" else few)
near("r batch alone", np.linalg.qr(narrow)[1], "float", 5, few)
near("pinv batch", np.linalg.pinv(wide), "double", 5, cond)
near("pinv batch narrow", np.linalg.pinv(narrow), "float", 5, few)
table.exact("rank batch", [[3, 3], [2, 3]], "int")
table.exact("rank batch narrow", [3, 3, 3], "int")
near("cond batch", np.linalg.cond(narrow), "float", 5, few * few)
for name, shape in (("q", (0, 3, 3)), ("r", (0, 3, 5)), ("pinv", (2, 0, 5, 3)), ("rank", (0,)), ("cond", (0,))):
    table.exact(f"{name} of no batch", np.zeros(shape), "int" if name == "rank" else "double")
near("det known", np.linalg.det(noise(3, (3, 3))), "double", 3)

table.exact("indefinite", [[2, 0, 0], [1, NAN, 0], [1, NAN, NAN]], "double")
table.exact("ok", False, "bool")
table.exact("nan", [[2, 0, 0], [1, 2, 0], [NAN, NAN, NAN]], "double")
table.exact("ok", False, "bool")
table.exact("ldl zero l", [[1, 0, 0], [0.5, 1, 0], [0.5, NAN, 1]], "double")
table.exact("ldl zero d", [4, NAN, NAN], "double")
table.exact("ok", False, "bool")
table.exact("lu singular", [[2, 4, 6], [0.5, -1, -2], [0.5, 0, 0]], "double")
table.exact("perm", [1, 2, 0], "int")
table.exact("ok", False, "bool")
table.exact("solve singular", [NAN] * 3, "double")
table.exact("ok", False, "bool")
table.exact("inv singular", np.full((3, 3), NAN), "double")
table.exact("ok", False, "bool")
table.exact("det singular", 0, "double")
table.exact("sign", 0, "double")
table.exact("log", -np.inf, "double")
table.exact("rank", 2, "int")
near("pinv singular", np.linalg.pinv([[1, 2, 3], [2, 4, 6], [1, 1, 1]]), "double", 3, 20)
table.elementwise("cond", 4, "float")
table.exact("solve nan", [NAN] * 2, "double")
table.exact("ok", False, "bool")
table.exact("tri_solve zero", [1, np.inf], "double")
table.write()
