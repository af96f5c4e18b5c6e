"""References of arrays-scan.sac: numpy's accumulations, and loops over segments."""

import numpy as np

from cases import Table, noise, whole

table = Table()
REALS = ("float", "double")


def summed(name, value, kind, magnitude):
    if kind in REALS:
        table.summed(name, value, kind, magnitude)
    else:
        table.exact(name, value, kind)


def some(seed, shape, kind):
    if kind in REALS:
        return noise(seed, shape, kind)
    return whole(seed, shape, 7) - (3 if kind == "int" else 0)


def wrapped(x, kind):
    return np.asarray(x).astype({"int": np.int32, "ubyte": np.uint8, "byte": np.int8}.get(kind, np.float64))


def exclusive(x, axis, first):
    start = np.full_like(np.take(x, [0], axis) if x.shape[axis] else x, first, dtype=x.dtype)
    return np.concatenate([start, np.delete(x, -1, axis)], axis) if x.shape[axis] else x


def ends(kind):
    return {"int": (-(2**31), 2**31 - 1), "ubyte": (0, 255)}.get(kind, (-np.inf, np.inf))


def scans(a, axis, kind):
    low, high = ends(kind)
    pairs = [
        ("cumsum", wrapped(np.cumsum(a, axis), kind), 0),
        ("cumprod", wrapped(np.cumprod(a, axis), kind), 1),
        ("cummax", wrapped(np.maximum.accumulate(a, axis), kind), low),
        ("cummin", wrapped(np.minimum.accumulate(a, axis), kind), high),
    ]
    if kind in REALS:
        pairs.append(("logcumsumexp", np.logaddexp.accumulate(a, axis), -np.inf))
    n = a.shape[axis]
    for name, inclusive, first in pairs:
        for label, value in ((name, inclusive), (name + "_exclusive", exclusive(inclusive, axis, first))):
            if name in ("cumsum", "logcumsumexp"):
                summed(label, value, kind, np.cumsum(np.abs(a), axis) if name == "cumsum" else n + 1)
            elif name == "cumprod":
                table.elementwise(label, value, kind, ulps=max(n, 1))
            else:
                table.exact(label, value, kind)


def every_axis(a, kind):
    for axis in range(-a.ndim, a.ndim):
        scans(a, axis, kind)
        for order in (1, 2):
            summed("diff", wrapped(np.diff(a, order, axis), kind), kind, 16)


for kind in ("int", "ubyte", *REALS):
    for seed, shape in enumerate([(0,), (1,), (15,), (16,), (17,), (3, 17), (2, 0, 3), (5, 3, 4), (2, 3, 1, 2)]):
        every_axis(some(seed + 1, shape, kind), kind)

v = noise(1, (33,))
summed("cumsum", np.cumsum(v), "double", np.sum(np.abs(v)))
summed("cumsum_exclusive", exclusive(np.cumsum(v), 0, 0), "double", np.sum(np.abs(v)))
m = whole(2, (4, 5), 10)
table.exact("cumsum", np.cumsum(m, -1), "int")
table.exact("cumsum 0", np.cumsum(m, 0), "int")
table.exact("cummax_exclusive", exclusive(np.maximum.accumulate(m, 1), 1, -(2**31)), "int")
table.exact("cumprod", np.cumprod(m, 1), "long")
table.exact("byte", np.cumsum(m, 1), "byte")
table.exact("short", np.minimum.accumulate(m, 1), "short")
table.exact("ulong", exclusive(np.cumsum(m, 1), 1, 0), "ulong")
for order in (0, 3, 9):
    table.exact(f"diff {order}", np.diff(m, order), "int")
table.exact("diff of ubyte", [254], "ubyte")

x = np.array([1, np.inf, -np.inf, 2, np.nan, 3])
with np.errstate(all="ignore"):
    table.exact("cumsum", np.cumsum(x), "double")
    table.exact("cumprod", np.cumprod(x), "double")
    table.exact("cummax", np.maximum.accumulate(x), "double")
    table.exact("cummin", np.minimum.accumulate(x), "double")
    table.exact("cummax_exclusive", exclusive(np.maximum.accumulate(x), 0, -np.inf), "double")
    table.exact("cummin_exclusive", exclusive(np.minimum.accumulate(x), 0, np.inf), "double")
    y = np.array([-np.inf, -np.inf, 1, 800, -800, np.inf, 1, np.nan, 0])
    table.elementwise("logcumsumexp", np.logaddexp.accumulate(y), "double")
    table.elementwise("logcumsumexp", np.logaddexp.accumulate([-1e5, -1e5]), "double")
    table.exact("segment_max", [np.inf, np.nan], "double")
    table.exact("segment_min", [1, np.nan, np.inf], "double")


def segmented(start, a, kind, op):
    stops = [*start[1:], len(a)]
    low, high = ends(kind)
    empty = {"sum": 0, "min": high, "max": low}[op]
    f = {"sum": np.sum, "min": np.min, "max": np.max}[op]
    rows = [f(a[b:e], axis=0) if e > b else np.full(a.shape[1:], empty) for b, e in zip(start, stops)]
    return np.asarray(rows).reshape((len(start), *a.shape[1:]))


def running(start, a):
    places = [0, *start, len(a)]
    parts = [np.cumsum(a[b:e], axis=0) for b, e in zip(places, places[1:])]
    return np.concatenate(parts)


for kind in ("int", "ubyte", *REALS):
    v, m, t = some(1, (17,), kind), some(2, (9, 3), kind), some(3, (6, 2, 2), kind)

    def add(name, value):
        summed(name, wrapped(value, kind), kind, 34)

    for name, a, start, ops in (
        ("vector", v, [0, 3, 3, 16], ("sum", "min", "max")),
        ("matrix", m, [1, 4, 9], ("sum", "min", "max")),
        ("box", t, [0, 5], ("sum", "max")),
    ):
        for op in ops:
            add(f"{name} {op}", segmented(start, a, kind, op))
        add(f"{name} cumsum", running(start, a))
    add("no segments", np.zeros((0, 3)))
    add("no segments, running", np.cumsum(m, 0))
    add("no rows", np.full((2, 3), ends(kind)[0]))
table.exact("ids", np.searchsorted([1, 2, 2, 7], np.arange(9), side="right") - 1, "int")
table.exact("ids", [-1, -1, -1], "int")
table.exact("ids", np.zeros(0), "int")
table.write()
