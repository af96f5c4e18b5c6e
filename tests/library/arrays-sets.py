"""References of arrays-sets.sac: numpy.unique and the set operations."""

import numpy as np

from cases import Table, noise, whole

table = Table()


def some(seed, shape, kind):
    if kind in ("float", "double"):
        return np.trunc(2 * noise(seed, shape, kind)) / 2 + 0.0
    n = 2 if kind == "bool" else 9
    return np.asarray(whole(seed, shape, n) + {"int": -4, "char": 97}.get(kind, 0))


def sets_of(a, kind):
    a = np.asarray(a)
    v, first, inverse, count = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(a.shape)
    table.exact("unique", v, kind)
    table.exact("unique_counts", count, "int")
    table.exact("unique_inverse", inverse, "int")
    table.exact("elements", v, kind)
    table.exact("counts", count, "int")
    table.exact("elements", v, kind)
    table.exact("inverse", inverse, "int")
    table.exact("elements", v, kind)
    table.exact("first", first, "int")
    table.exact("inverse", inverse, "int")
    table.exact("counts", count, "int")


def pairs_of(a, b, kind):
    table.exact("union", np.union1d(a, b), kind)
    table.exact("intersect", np.intersect1d(a, b), kind)
    table.exact("setdiff", np.setdiff1d(a, b), kind)
    table.exact("setxor", np.setxor1d(a, b), kind)


for kind in ("int", "bool", "char", "float", "double"):
    for seed, shape in enumerate([(), (3, 4), (0,), (1,), (15,), (17,), (16, 3)]):
        sets_of(some(seed + 1, shape, kind), kind)
    pairs_of(some(1, (5,), kind), some(2, (4,), kind), kind)
    pairs_of(some(3, (17,), kind), some(4, (2, 2), kind), kind)
    pairs_of(some(3, (0,), kind), some(4, (5,), kind), kind)
    pairs_of(some(5, (3,), kind), some(4, (0,), kind), kind)
sets_of(some(2, (3, 4), "int"), "int")
pairs_of(some(1, (5,), "int"), some(2, (4,), "int"), "int")
nan, inf = np.nan, np.inf
sets_of([nan, 1, inf, nan, -inf, 1], "double")
sets_of([0.0, -0.0], "double")
table.exact("union", [1, 2, inf, nan], "double")
table.exact("intersect", [2, nan], "double")
table.exact("setdiff", [1], "double")
table.exact("setxor", [1, inf], "double")
a = whole(8, (40, 25), 1000)
table.exact("a thousand", np.unique(a), "int")
table.exact("a thousand", np.unique(a, return_counts=True)[1], "int")
table.exact("a thousand", np.setxor1d(whole(8, (1000,), 500), whole(9, (200,), 1000)), "int")
table.write()
