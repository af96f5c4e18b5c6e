"""References of complex.sac, from mpmath; at zeros, infinities and NaN from the C library, as Python's cmath and NumPy have it."""

import cmath
import math

import mpmath as mp
import numpy as np

from cases import Table, noise, whole

table = Table()
N = 24
# 5e-16.
ROUNDINGS = 2.3
EXPONENTIALS = "exp sinh cosh tanh sin cos tan".split()
OTHERS = "sqrt log asin acos atan asinh acosh atanh".split()


def spread(seed, n, e):
    m, k = noise(seed, (n,)), whole(seed + 100, (n,), 2 * e + 1)
    return np.array([float(a) * 2.0 ** int(b - e) for a, b in zip(m, k)])


def rounded(x):
    return float(x) if abs(x) < mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -54) else math.copysign(math.inf, float(mp.sign(x)))


def parts(set, f, values, kinds=("re", "im"), normwise=False):
    for kind, part in zip(kinds, ("real", "imag")):
        column = [rounded(getattr(v, part)) for v in values]
        size = 5e-16 * max(float(abs(v)) for v in values) if normwise else 1e-323
        table.add(f"{set} {f}.{kind}", column, "double", rel=ROUNDINGS, absolute=size)


def functions(set, names, x, y, digits):
    for f in names:
        with mp.workprec(digits):
            parts(set, f, [getattr(mp, f)(mp.mpc(float(a), float(b))) for a, b in zip(x, y)])
    if names is OTHERS:
        table.elementwise(f"{set} norm", [float(mp.hypot(float(a), float(b))) for a, b in zip(x, y)], "double", 1)


def quotients(set, x, y, f="/"):
    with mp.workprec(400):
        z = [mp.mpc(float(a), float(b)) for a, b in zip(x, y)]
        w = z[7 % len(z) :] + z[: 7 % len(z)]
        values = [a / b if f == "/" else mp.exp(b * mp.log(a)) for a, b in zip(z, w)]
        sizes = [abs(v) for v in values]
        table.elementwise(f"{set} {f}.size", [rounded(v) for v in sizes], "double", ROUNDINGS + 1)
        for kind, part in ("re", "real"), ("im", "imag"):
            # Where the size is no number of the type, there is no direction.
            column = [rounded(getattr(v, part) / r) if 1e-307 < r < mp.mpf(2) ** 1024 else math.nan for v, r in zip(values, sizes)]
            table.add(f"{set} {f}.{kind}", column, "double", absolute=6e-16)


def edges(names):
    e = [-math.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf, math.nan]
    for f in names:
        values = []
        for a in e:
            for b in e:
                with np.errstate(all="ignore"):
                    z = np.complex128(complex(a, b))
                    name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(f, f.replace("as", "arcs").replace("ac", "arcc").replace("at", "arct"))
                    values.append(complex(getattr(np, name)(z)))
        for kind, part in ("re", "real"), ("im", "imag"):
            table.add(f"edge {f}.{kind}", [getattr(v, part) for v in values], "double", rel=4)
    if names is OTHERS:
        table.add("edge norm", [math.hypot(a, b) for a in e for b in e], "double", rel=1)


x, y = spread(1, N, 0), spread(2, N, 0)
functions("near", EXPONENTIALS, x, y, 300)
functions("near", OTHERS, x, y, 300)
quotients("near", x, y)
quotients("near", x, y, "pow")
x, y = spread(3, N, 8), spread(4, N, 8)
functions("some", EXPONENTIALS, x, y, 1800)
functions("some", OTHERS, x, y, 300)
quotients("some", x, y)
quotients("some", x, y, "pow")
x, y = spread(5, N, 1000), spread(6, N, 1000)
functions("all", OTHERS, x, y, 4400)
quotients("all", x, y)
x, y = 1 + spread(7, N, 9) * 2.0**-20, spread(8, N, 9) * 2.0**-20
functions("one", OTHERS, x, y, 300)
functions("far", EXPONENTIALS, spread(9, N, 0) * 512, spread(10, N, 1), 3400)
edges(EXPONENTIALS)
edges(OTHERS)
table.exact("powers", [1, 1, 0, 1, 1, 1, 1, 1, 1], "double")
table.exact("zeros", [1, 0], "int")
table.add("quotients", [-0.0, -0.5, -1.0, -math.inf, math.inf, 1.0, 0.5, 0.0, math.nan], "double")
table.write()
