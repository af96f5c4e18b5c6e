"""References of linalg-eigen.sac: NumPy's eigenvalues, singular values and norms, in double precision."""

import numpy as np
import scipy.linalg as sl
import torch

from cases import EPS, Table, noise

table = Table()
NAN = np.nan


def near(name, value, kind, n, magnitude, factor=1.0):
    """Within 10 n roundings of the matrix, times what the problem's condition makes of them."""
    table.add(name, value, kind, rel=0, absolute=10 * max(n, 1) * EPS[kind] * magnitude * factor)


def signed(v):
    return v * np.where(v[0] < 0, -1, 1)


def least_gap(w):
    """By how much a vector may turn is the matrix over the distance of the nearest value."""
    return np.min(np.abs(np.diff(w)), initial=np.max(np.abs(w)))


def eigen(name, a, kind, vectors):
    n = len(a)
    a = np.tril(a) + np.tril(a, -1).T
    w, v = np.linalg.eigh(a)
    size = np.max(np.abs(w), initial=0)
    near(name, w, kind, n, size)
    near("w", w, kind, n, size)
    near("orthonormal", np.eye(n), kind, n, 1)
    near("v w v'", a, kind, n, size)
    if vectors:
        near("v", signed(v), kind, n, 1, size / least_gap(w))


def singular(name, a, kind, vectors):
    m, n = a.shape
    k = min(m, n)
    u, s, vt = np.linalg.svd(a, full_matrices=False) if k else (np.zeros((m, 0)), np.zeros(0), np.zeros((0, n)))
    size = np.max(s, initial=0)
    for label in (name, "s"):
        near(label, s, kind, m + n, size)
    near("u'u", np.eye(k), kind, m + n, 1)
    near("v'v", np.eye(k), kind, m + n, 1)
    near("u s v'", a, kind, m + n, size)
    if vectors:
        gap = min(least_gap(s), s[-1]) if m != n else least_gap(s)
        near("u", signed(u), kind, m + n, 1, size / gap)
        near("v", signed(vt.T), kind, m + n, 1, size / gap)


def batches(lead, n, shape, kind):
    a, b = noise(1, (*lead, n, n), kind), noise(2, (*lead, *shape), kind)
    a = np.tril(a) + np.swapaxes(np.tril(a, -1), -1, -2)
    w, v = np.linalg.eigh(a)
    size = np.max(np.abs(w), initial=0)
    turn = max((np.max(np.abs(x)) / least_gap(x) for x in w.reshape(-1, n)), default=1)
    near("eigh batch", w, kind, n, size)
    near("w batch", w, kind, n, size)
    near("v batch", v * np.where(v[..., :1, :] < 0, -1, 1), kind, n, 1, turn)
    near("v w v' batch", a, kind, n, size)
    u, s, vt = np.linalg.svd(b, full_matrices=False)
    signs = np.where(u[..., :1, :] < 0, -1, 1)
    turn = max((x[0] / min(least_gap(x), x[-1]) for x in s.reshape(-1, min(shape))), default=1)
    size = np.max(s, initial=0)
    near("svd batch", s, kind, sum(shape), size)
    near("s batch", s, kind, sum(shape), size)
    near("u batch", u * signs, kind, sum(shape), 1, turn)
    near("vt batch", vt * np.swapaxes(signs, -1, -2), kind, sum(shape), 1, turn)


def norms(a, kind):
    size = float(np.sum(np.abs(a)))
    n = sum(a.shape)

    def add(name, value):
        near(name, value, kind, n, size)

    add("norm", np.linalg.norm(a))
    add("norm_p", np.linalg.norm(a.ravel(), 3))
    table.exact("norm_p", np.max(np.abs(a), initial=0), kind)
    table.exact("norm_p", np.min(np.abs(a), initial=np.inf), kind)
    table.exact("norm_p", a.size, kind)
    add("norm_1", np.max(np.sum(np.abs(a), 0), initial=0))
    add("norm_inf", np.max(np.sum(np.abs(a), 1), initial=0))
    s = np.linalg.svd(a, compute_uv=False) if a.size else np.zeros(0)
    add("norm_2", np.max(s, initial=0))
    add("norm_nuc", np.sum(s))
    table.exact("has_nan", False, "bool")
    table.exact("has_zero_diagonal", False, "bool")


for n, vectors in ((0, 0), (1, 1), (2, 1), (15, 1), (33, 1), (65, 0)):
    eigen("eigh", noise(1, (n, n)), "double", vectors)
eigen("eigh", noise(1, (17, 17), "float"), "float", True)
eigen("large", noise(1, (5, 5), "float") * 1e30, "float", False)
eigen("small", noise(1, (5, 5), "float") * 1e-30, "float", False)
eigen("equal", np.ones((20, 20)) + 2 * np.eye(20), "double", False)
eigen("diagonal", np.diag(np.arange(7) % 3).astype(float), "double", False)
eigen("zero", np.zeros((3, 3)), "double", False)
i = np.arange(7)
eigen("graded", 0.5 ** (4.0 * np.maximum.outer(i, i)) * (0.5 + 0.5 * np.eye(7)), "double", False)

for shape, vectors in (((1, 1), 1), ((15, 3), 1), ((3, 16), 1), ((33, 31), 1), ((65, 65), 0)):
    singular("svd", noise(2, shape), "double", vectors)
singular("svd", noise(2, (17, 16), "float"), "float", True)
singular("svd", noise(2, (0, 3)), "double", False)
singular("svd", noise(2, (3, 0)), "double", False)
singular("large", noise(2, (5, 4), "float") * 1e30, "float", False)
singular("rank one", np.outer(np.arange(9) + 1.0, np.arange(8) + 1.0), "double", False)
singular("zero", np.zeros((4, 3)), "double", False)
i = np.arange(6)
singular("zeros among others", i[:, None] * (i[:, None] + i + 1 == 6.0), "double", False)
singular("equal", 2 * np.eye(5), "double", False)

batches((3,), 4, (3, 5), "double")
batches((2, 3), 5, (5, 2), "double")
batches((2, 2), 3, (4, 4), "float")
batches((1,), 1, (1, 3), "double")
batches((0,), 3, (3, 2), "double")
for name, value in zip(("w", "v"), np.linalg.eigh(np.zeros((2, 0, 3, 3)))):
    table.exact(f"{name} of no batch", value, "double")
for name, shape in (("u", (2, 0, 0)), ("s", (2, 0)), ("vt", (2, 0, 3))):
    table.exact(f"{name} without rows", np.zeros(shape), "double")
near("one of a batch is nan", [[2, 1], [NAN, NAN]], "double", 4, 2)
table.exact("nan", [NAN] * 2, "double")
table.exact("infinite", [NAN] * 2, "double")
table.exact("infinite v", [[NAN] * 2] * 2, "double")
table.exact("nan", [NAN] * 2, "double")
table.exact("nan", [NAN] * 2, "double")
table.exact("nan u", [[NAN] * 2] * 2, "double")
table.exact("nan v", [[NAN] * 2] * 2, "double")

norms(noise(3, (4, 3)), "double")
norms(noise(3, (17, 16), "float"), "float")
norms(noise(3, (0, 3)), "double")
table.exact("norm", 3, "double")
a = noise(3, (2, 3, 2))
table.elementwise("norm", np.linalg.norm(a), "double")
table.elementwise("norm_p", np.linalg.norm(a.ravel(), 1.5), "double", 16)
v = noise(3, (5,))
table.elementwise("norm_1", np.linalg.norm(v, 1), "double")
table.exact("norm_inf", np.linalg.norm(v, np.inf), "double")
table.elementwise("norm_2", np.linalg.norm(v), "double")
for name in ("norm_1 nan", "norm_inf nan", "norm_p nan"):
    table.exact(name, NAN, "double")
for value in (True, True, False, False, True):
    table.exact("is_symmetric", value, "bool")
table.exact("has_nan", True, "bool")
table.exact("has_nan", True, "bool")
table.exact("has_zero_diagonal", True, "bool")


def gradient(f, a, *seeds):
    """The gradient of the sum of f(a) * seeds, which must agree with differences in one direction."""

    def loss(x):
        return sum((r * torch.tensor(s)).sum() for r, s in zip(f(x), seeds))

    x = torch.tensor(a, requires_grad=True)
    loss(x).backward()
    way = noise(11, a.shape) * 1e-6
    moved = float(loss(torch.tensor(a + way)) - loss(torch.tensor(a - way)))
    expected = 2 * float(np.sum(x.grad.numpy() * way))
    assert abs(moved - expected) < 1e-10 * (1 + np.max(np.abs(x.grad.numpy()))) ** 2, (moved, expected)
    return x.grad.numpy()


def eigh_of_lower(x):
    w, v = torch.linalg.eigh(torch.tril(x) + torch.tril(x, -1).T)
    return w, v * torch.sign(v[0])


def svd_with_signs(x):
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    signs = torch.sign(u[0])
    return u * signs, s, vt * signs[:, None]


def gradients(n, shape, kind):
    a, b = np.tril(noise(1, (n, n), kind)), noise(2, shape, kind)
    w = np.linalg.eigvalsh(a)
    da = gradient(eigh_of_lower, a, noise(4, (n,), kind), noise(5, (n, n), kind))
    near("eigh_back", np.tril(da), kind, n, np.max(np.abs(da)), (np.max(np.abs(w)) / least_gap(w)) ** 2)
    k = min(shape)
    db = gradient(svd_with_signs, b, noise(6, (shape[0], k), kind), noise(8, (k,), kind), noise(7, (k, shape[1]), kind))
    s = np.linalg.svd(b, compute_uv=False)
    near("svd_back", db, kind, sum(shape), np.max(np.abs(db)), (s[0] / min(least_gap(s), s[-1])) ** 2)


gradients(5, (7, 4), "double")
gradients(1, (4, 5), "double")
gradients(5, (4, 4), "float")


def functions(n, m, kind):
    a, b = noise(1, (n, n), kind), noise(2, (m, n), kind)
    e = sl.expm(a) if n else a
    near("expm", e, kind, n, np.max(np.abs(e), initial=0), 1 + float(np.sum(np.abs(a))) / max(n, 1))
    s = b.T @ b
    near("sqrtm_spd", s, kind, m, np.max(np.abs(s), initial=0))
    u, p = sl.polar(b) if n else (b, s)
    near("polar u", u, kind, m, 1, np.linalg.cond(b) if n else 1)
    near("polar p", p, kind, m, np.max(np.abs(p), initial=0))


functions(1, 2, "double")
functions(16, 17, "double")
functions(5, 5, "float")
functions(0, 3, "double")
near("expm large", sl.expm([[-40.0, 1], [3, -20]]), "double", 2, 2e-8)
table.exact("expm nan", np.full((2, 2), NAN), "double")
table.exact("sqrtm_spd negative", np.full((2, 2), NAN), "double")
near("polar wide u", [[1, 0, 0], [0, -1, 0]], "double", 3, 1)
near("polar wide p", [[3, 0, 0], [0, 4, 0], [0, 0, 0]], "double", 3, 4)
c, r = noise(4, (4,), "float"), noise(5, (6,), "float")
table.exact("toeplitz", sl.toeplitz([1, 2, 3]), "int")
table.exact("toeplitz", sl.toeplitz(c, r), "float")
table.exact("toeplitz", np.zeros((0, 0)), "double")
table.exact("hankel", sl.hankel([1, 2, 3]), "int")
table.exact("hankel", sl.hankel(c, r), "float")
table.elementwise("vander", np.vander(noise(4, (3,))), "double")
table.exact("vander", np.vander([1, 2, -3], 5), "int")
table.exact("vander", np.zeros((2, 0)), "int")
table.write()
