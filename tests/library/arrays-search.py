import warnings

import numpy as np
from cases import EPS, Table, noise, whole

warnings.simplefilter("ignore")
t = Table()


def along(name, kind, f, c, v, add):
    add(f"{name} 0 {kind}", f(c, axis=0))
    add(f"{name} 1 {kind}", f(c, axis=1))
    add(f"{name} -1 {kind}", f(c, axis=-1))
    add(f"{name} 0 2 {kind}", f(c, axis=(0, 2)))
    add(f"{name} -1 0 {kind}", f(c, axis=(-1, 0)))
    add(f"{name} all {kind}", f(c, axis=(1, 0, 2)))
    add(f"{name} no axis {kind}", f(c[..., None], axis=3))
    add(f"{name} vector {kind}", f(v, axis=0))
    add(f"{name} unknown {kind}", f(c, axis=1))
    add(f"{name} unknown axes {kind}", f(c, axis=(2, 1)))


def some(name, kind, f, c, add):
    add(f"{name} 1 {kind}", f(c, axis=1))
    add(f"{name} -1 0 {kind}", f(c, axis=(-1, 0)))
    add(f"{name} unknown {kind}", f(c, axis=1))


for kind in ("float", "double"):

    def same(name, value, kind=kind):
        t.exact(name if name.endswith(kind) else f"{name} {kind}", value, kind)

    def places(name, value, kind=kind):
        t.exact(f"{name} {kind}", value, "int")

    def near(magnitude, kind=kind):
        def add(name, value):
            name = name if name.endswith(kind) else f"{name} {kind}"
            t.add(name, value, kind, rel=4, absolute=8 * EPS[kind] * magnitude)

        return add

    v = noise(1, (17,), kind)
    c = noise(2, (3, 15, 16), kind)
    # The sum with 100 is rounded to the type.
    large = noise(3, (2500,), kind) + 100
    if kind == "float":
        large = large.astype(np.float32).astype(np.float64)
    along("sum", kind, np.sum, c, v, near(np.abs(c).sum()))
    some("minval", kind, np.min, c, same)
    along("maxval", kind, np.max, c, v, same)
    along("mean", kind, np.mean, c, v, near(2))
    along("var", kind, np.var, c, v, near(8))
    some("std", kind, np.std, c, near(4))
    along("median", kind, np.median, c, v, near(1))
    near(8)("var ddof", np.var(c, axis=1, ddof=1))
    near(4)("std ddof", np.std(c, axis=(0, 2), ddof=2))
    same("var one, ddof", np.nan)
    near(2)("mean", np.mean(c))
    # Deviations are as exact as the mean, whose roundings count twice.
    near(8)("var", np.var(large))
    near(8)("var 512", np.var(large[:512]))
    near(8)("var 513", np.var(large[:513]))
    near(8)("var cube", np.var(c))
    near(8)("std", np.std(large))
    same("var scalar", 0.0)
    same("mean none", np.nan)
    same("var none", np.nan)
    same("std one", 0.0)
    same("mean of none", [np.nan] * 3)
    same("mean to none", np.zeros(0))
    near(1)("median", np.median(v))
    near(1)("median even", np.median(v[:16]))
    near(1)("median large", np.median(large))
    same("median none", np.nan)
    same("median one", 7.0)
    same("median nan", np.nan)
    same("quantile 0", np.quantile(c, 0))
    same("quantile 1", np.quantile(c, 1))
    # The place 0.3 * 2499 is rounded, and so is the part of the way to the next element.
    near(100)("quantile 0.3", np.quantile(large, 0.3))
    near(4)("quantile axis", np.quantile(c, 0.75, axis=1))
    near(4)("quantile axes", np.quantile(c, 0.25, axis=(0, 2)))
    near(4)("quantile vector", np.quantile(v, [0, 0.125, 1]))
    same("quantile inf", np.inf)
    places("argmin", np.argmin(c))
    places("argmax", np.argmax(c))
    places("argmax large", np.argmax(large))
    places("argmin large", np.argmin(large))
    places("argmax nan", 1)
    places("argmin nan", [1, 0])
    places("argmax 0", np.argmax(c, axis=0))
    places("argmax -1", np.argmax(c, axis=-1))
    places("argmin 1", np.argmin(c, axis=1))
    places("argmax 0 2", np.argmax(np.transpose(c, (1, 0, 2)).reshape(15, 48), axis=1))
    places("argmin unknown", np.argmin(c, axis=1))
    places("index_of_max", np.unravel_index(np.argmax(c), c.shape))
    same("minmax low", np.min(c))
    same("minmax high", np.max(c))
    same("minmax low 1", np.min(c, axis=1))
    same("minmax high 1", np.max(c, axis=1))
    places("searchsorted", np.searchsorted(np.sort(v), c[0]))
    places("searchsorted_right", np.searchsorted(np.sort(v), v, side="right"))
    places("searchsorted nan", np.searchsorted([0, 1, np.nan], [np.nan, 2]))
    places("searchsorted_right nan", np.searchsorted([0, 1, np.nan], [np.nan, 2], side="right"))
    places("digitize", np.digitize(c[1], [-1, 0, 1]))
    same("compress", np.compress([True, False, True], c, axis=0))
    t.exact(f"isin {kind}", np.isin(v, v[:5]), "bool")
    t.exact(f"isin nan {kind}", [1, 0], "bool")
    places("find", list(v).index(v[9]))
    same("clip", np.clip(c[0], -1, 1))
    same("clip nan", [np.nan, 1])

v = whole(1, (17,), 10)
c = whole(2, (3, 15, 16), 10)


def ints(name, value):
    t.exact(name, value, "int")


def bools(name, value):
    t.exact(name, value, "bool")


def argextreme(f, a, axes):
    rest = [k for k in range(a.ndim) if k not in axes]
    b = np.transpose(a, rest + list(axes))
    return f(b.reshape([a.shape[k] for k in rest] + [-1]), axis=-1)


along("sum", "int", np.sum, c, v, ints)
along("maxval", "int", np.max, c, v, ints)
along("count", "int", lambda a, axis: (a != 0).sum(axis), c, v, ints)
ints("prod 0", np.prod(c[0].astype(np.int32), axis=0, dtype=np.int32))
t.exact("prod 0 1", np.prod(c[1, :2, :3] + 1), "long")
ints("minval none", [2147483647] * 2)
ints("sum none", [0, 0])
ints("sum to none", np.zeros(0))
t.exact("sum bytes", c[0].sum(0).astype(np.int8), "byte")
ints("sum scalar, no axis", 5)
ints("sum one", 5)
p = c > 4
bools("any 0", p.any(0))
bools("any 1 2", p.any((1, 2)))
bools("all 2", (c > 0).all(-1))
bools("all unknown", (c > 0).all(0))
bools("all none", [1, 1])
bools("any none", [0, 0])
ints("count bools", p.sum())
ints("count numbers", (c != 0).sum())
ints("count 1", p.sum(1))
ints("count doubles", 1)
ints("count scalar", 1)
ints("argmax int", c.argmax())
ints("argmin int axes", argextreme(np.argmin, c, (2, 0)))
ints("argmax vector", 1)
ints("argmax scalar", 0)
ints("argmax to none", np.zeros(0))
ints("argmax bytes", c.argmax(0))
ints("index_of_max int", np.unravel_index(c.argmax(), c.shape))
ints("index_of_max vector", [v.argmax()])
ints("index_of_max scalar", np.zeros(0))
ints("nonzero", np.argwhere(p[0]))
ints("nonzero cube", np.argwhere(p[:2, :2, :3]))
ints("nonzero none", np.zeros((0, 2)))
ints("nonzero empty", np.zeros((0, 2)))
ints("nonzero vector", [[0], [2]])
ints("nonzero unknown", np.argwhere(p[0]))
ints("positions", np.flatnonzero(v > 4))
ints("positions none", np.zeros(0))
ints("positions empty", np.zeros(0))
ints("compress vector", v[v > 4])
ints("compress none", np.zeros(0))
t.exact("compress chars", [98], "char")
ints("compress unknown", c[[0, 2]])
bools("isin int", np.isin(c, [3, 7]))
bools("isin empty", np.zeros(17))
bools("isin scalar", 1)
bools("isin chars", [0, 1])
ints("find none", -1)
ints("find empty", -1)
ints("find bool", 1)
ints("clip int", np.clip(c, 2, 5))
ints("clip crossed", [2, 2, 2])
ints("clip scalar", 5)
t.exact("clip ubytes", np.clip(v, 2, 5), "ubyte")
ints("searchsorted int", np.searchsorted([1, 3, 3, 5], v))
ints("searchsorted_right int", np.searchsorted([1, 3, 3, 5], v, side="right"))
ints("searchsorted empty", np.zeros(17))
ints("searchsorted for none", np.zeros(0))
ints("searchsorted scalar", 1)
ints("digitize int", np.digitize(v, [2, 4, 8]))
t.write()
