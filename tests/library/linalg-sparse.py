"""References of linalg-sparse.sac: SciPy's sparse matrices, NumPy where their order of elements is open."""

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from cases import EPS, Table, noise, whole

table = Table()


def thin(seed, m, n, kind):
    return np.where(whole(seed + 1, (m, n), 3) == 0, noise(seed, (m, n), kind), 0)


def product(name, a, b, kind):
    table.summed(name, a @ b, kind, np.abs(a) @ np.abs(b))


def places(a):
    """Where rows start, and the columns, of a sparse matrix."""
    a = a.tocsr().sorted_indices()
    table.exact("start", a.indptr, "int")
    table.exact("column", a.indices, "int")


def extents(m, n, kind):
    d = thin(1, m, n, kind)
    a = sp.csr_array(d)
    table.exact("dense", d, kind)
    places(a)
    table.exact("rows", [m, n, a.nnz], "int")
    x = noise(3, (n,), kind)
    product("matvec", d, x, kind)
    product("vecmat", noise(4, (m,), kind), d, kind)
    product("matmat", d, noise(5, (n, 3), kind), kind)
    table.exact("transpose", d.T, kind)
    table.exact("column", sp.csr_array(d.T).indices, "int")
    b = thin(6, n, 4, kind)
    product("spgemm", d, b, kind)
    places(a @ sp.csr_array(b))
    table.elementwise("spadd", d + thin(7, m, n, kind), kind)
    table.elementwise("scaled", x[n - 1] * d, kind)
    table.exact("diagonal", a.diagonal(), kind)
    table.exact("row", a.tocoo().row, "int")
    table.exact("again", sp.csr_array(d.T).data, kind)
    z = 4 * m
    i, j, v = whole(8, (z,), max(m, 1)), whole(9, (z,), max(n, 1)), noise(10, (z,), kind)
    s = sp.coo_array((v, (i, j)), shape=(m, n))
    size = sp.coo_array((np.abs(v), (i, j)), shape=(m, n)).toarray()
    table.summed("duplicates", s.toarray(), kind, size)
    places(s)
    table.summed("places", s.toarray().T, kind, size)
    table.summed("parts", s.toarray(), kind, size)


def triangles(n, kind):
    a = thin(11, n, n, kind) + 2 * np.eye(n)
    for name, lower in (("tri_solve", True), ("tri_solve_upper", False)):
        for b in (noise(12, (n,), kind), noise(13, (n, 2), kind)):
            t = np.tril(a) if lower else np.triu(a)
            x = sl.solve_triangular(a, b, lower=lower)
            table.add(name, x, kind, 4, 10 * n * EPS[kind] * np.linalg.cond(t) * np.max(np.abs(x)))


def gradients():
    d = thin(1, 5, 4, "double")
    x, w = noise(3, (4,)), noise(4, (5,))

    def kept(name, value):
        table.elementwise(name, value[d != 0], "double", 16)

    kept("da", np.outer(w, x))
    product("dx", w, d, "double")
    kept("da", np.outer(w, x))
    product("dw", d, x, "double")
    back = 2 * np.outer(d @ x, x)
    table.summed("da", back[d != 0], "double", 2 * np.outer(np.abs(d) @ np.abs(x), np.abs(x)))


extents(5, 4, "double")
extents(1, 1, "double")
extents(3, 17, "float")
triangles(6, "double")
triangles(1, "float")
gradients()
table.exact("empty", np.zeros(0), "double")
table.exact("empty", np.zeros(3), "double")
table.exact("empty", np.zeros((3, 3)), "double")
table.exact("zeros", [0], "double")
table.write()
