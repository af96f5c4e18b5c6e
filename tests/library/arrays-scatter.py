"""References of arrays-scatter.sac: numpy's selections, ufunc.at, bincount and histograms."""

import numpy as np

from cases import EPS, Table, noise, whole

table = Table()
NUMPY = {"ubyte": np.uint8, "int": np.int32, "long": np.int64, "bool": bool, "char": np.uint8}
REALS = ("float", "double")


def some(seed, shape, kind):
    if kind in REALS:
        return noise(seed, shape, kind)
    x = {
        "int": lambda: whole(seed, shape, 7) - 3,
        "long": lambda: whole(seed, shape, 7) - 3,
        "ubyte": lambda: whole(seed, shape, 7),
        "bool": lambda: whole(seed, shape, 2),
        "char": lambda: 97 + whole(seed, shape, 20),
    }[kind]()
    return x.astype(NUMPY[kind])


def moved(kind):
    v, m, t = some(1, (17,), kind), some(2, (4, 3), kind), some(3, (3, 4, 2), kind)

    def add(name, value):
        table.exact(name, value, kind)

    for at, a in (
        (5, v),
        (whole(4, (2, 3), 17), v),
        (whole(4, (2, 3), 4), m),
        (2, t),
        (np.zeros(0, int), t),
        (whole(5, (16,), 3), t),
    ):
        add("gather", np.take(a, at, axis=0))
    for axis in range(-3, 3):
        add("gather on an axis", np.take(t, whole(6, (2, 2), 2), axis))
        add("gather on an axis", np.take(t, 1, axis))
    lines = (
        (0, whole(7, (5,), 17), v, 10),
        (0, whole(7, (2, 4, 2), 3), t, 11),
        (-2, whole(8, (3, 3, 2), 4), t, 12),
        (2, whole(9, (3, 4, 1), 2), t, 13),
    )
    for axis, at, a, _ in lines:
        add("take_along_axis", np.take_along_axis(a, at, axis))
    for axis, at, a, seed in lines:
        b, x = a.copy(), some(seed, at.shape, kind)
        for place in np.ndindex(at.shape):
            to = list(place)
            to[axis] = at[place]
            b[tuple(to)] = x[place]
        add("put_along_axis", b)
    for at, a in (
        (whole(14, (5, 2), 3), m),
        (whole(14, (2, 2, 1), 3), t),
        (np.array([1, 0]), t),
        (np.zeros(0, int), m),
        (whole(15, (16, 3), 2), t),
    ):
        add("gather_nd", a[tuple(np.moveaxis(at, -1, 0))])
    for at, x, a in (
        (np.array(3), v[0], v),
        (whole(16, (15,), 17), some(17, (15,), kind), v),
        (whole(16, (2, 2), 4), some(17, (2, 2, 3), kind), m),
        (np.zeros(0, int), some(17, (0, 4, 2), kind), t),
        (whole(16, (5,), 3), some(17, (5, 4, 2), kind), t),
    ):
        b = a.copy()
        for place in np.ndindex(at.shape):
            b[at[place]] = x[place]
        add("scatter", b)
    add("permute", v[:16][::-1])
    b = np.empty_like(m)
    b[[2, 0, 3, 1]] = m
    add("permute", b)
    add("permute", m[:0])


def combined(kind):
    v, m, t = some(1, (17,), kind), some(2, (4, 3), kind), some(3, (3, 2, 2), kind)

    def add(name, value, magnitude):
        if kind in REALS:
            table.add(name, value, kind, rel=8, absolute=8 * EPS[kind] * magnitude)
        else:
            table.exact(name, value, kind)

    for name, op in (("add", np.add), ("min", np.minimum), ("max", np.maximum), ("mul", np.multiply)):
        for at, x, a in (
            (np.array(2), v[0], v),
            (whole(16, (33,), 17), some(17, (33,), kind), v),
            (whole(16, (2, 2), 4), some(17, (2, 2, 3), kind), m),
            (np.zeros(0, int), some(17, (0, 3), kind), m),
            (whole(16, (6,), 3), some(17, (6, 2, 2), kind), t),
        ):
            b = a.copy()
            op.at(b, at, x)
            add("scatter_" + name, b, 20 if name == "add" else 0)
    weight = some(19, (40,), kind)
    total = np.zeros(7, weight.dtype)
    np.add.at(total, whole(18, (40,), 5), weight)
    add("bincount", total, 80)
    add("bincount", np.zeros(3), 0)


def histograms(kind):
    x = noise(20, (1000,), kind)

    def add(name, value):
        table.exact(name, value, "int")

    add("histogram", np.histogram(x, 16, (-1, 1))[0])
    add("histogram", np.histogram(x, 1, (0, 1))[0])
    add("histogram", np.histogram(x, 17, (-2, 2))[0])
    add("histogram", np.zeros(3))
    add("histogram by edges", np.histogram(x, [-1.5, -1, 0.25, 0.25, 1.75])[0])
    add("histogram by edges", np.histogram(x, [0, 1])[0])
    add("histogram by edges", np.histogram([0, 1, 2, 3, 1, 4], [0, 1, 3])[0])
    add("histogram", [1, 1])
    add("histogram by edges", [1, 2])
    add("histogramdd", np.histogramdd(x.reshape(500, 2), (4, 3), ((-2, 2), (-1.5, 1)))[0])
    add("histogramdd", np.histogramdd(x.reshape(250, 4), (2, 1, 3, 2), ((-2, 2), (-1.5, 1), (0, 2), (-1, 1)))[0])
    add("histogramdd", np.histogramdd(x.reshape(1000, 1), (5,), ((-2, 2),))[0])


def ranges():
    kind = "double"
    x = noise(20, (1000,))

    def add(name, value):
        table.exact(name, value, "int")

    w = noise(22, (1000,))
    t = table.summed
    add("histogram of all", np.histogram(x, 7)[0])
    t("edges", np.histogram(x, 7)[1], kind, 2)
    t("weights of all", np.histogram(x, 5, weights=w)[0], kind, 400)
    t("edges", np.histogram(x, 5)[1], kind, 2)
    t("weights", np.histogram(x, 6, (-1, 1), weights=w)[0], kind, 400)
    t("weights by edges", np.histogram(x, [-1.5, -1, 0.25, 0.25, 1.75], weights=w)[0], kind, 400)
    add("histogram of equal numbers", [0, 0, 3, 0])
    add("histogram of none", [0, 0])
    boxes = np.histogramdd(x.reshape(500, 2), (2, 3), ((-2, 2), (-1.5, 1)), weights=w[:500])[0]
    t("weights in boxes", boxes, kind, 400)
    add("boxes of all", np.histogramdd(x.reshape(500, 2), (3, 2))[0])
    x, w = (noise(k, (100,), "float").astype(np.float32) for k in (20, 22))
    t("weights of floats", np.histogram(x, 5, weights=w)[0], "float", 100)


for kind in ("int", "bool", "char", *REALS):
    moved(kind)
for kind in ("ubyte", "int", "long", *REALS):
    combined(kind)
for kind in REALS:
    histograms(kind)
ranges()
nan = np.nan
table.exact("scatter_min", [nan, nan, nan], "double")
table.exact("scatter_max", [nan, nan, nan], "double")
table.exact("bincount", np.bincount(whole(18, (100,), 17), minlength=17), "int")
table.exact("bincount", np.bincount(whole(18, (15,), 3), minlength=4), "int")
table.exact("bincount", [], "int")
for key, m in ((whole(21, (33,), 5), 6), (whole(21, (16,), 16), 16), (np.zeros(0, int), 2)):
    order = np.argsort(key, kind="stable")
    table.exact("group", order, "int")
    table.exact("starts", np.searchsorted(key[order], np.arange(m)), "int")
table.exact("group", [1, 0, 2], "int")
table.write()
