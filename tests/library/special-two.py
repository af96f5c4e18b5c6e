"""References of special-two.sac, from mpmath and NumPy."""

import math

import mpmath as mp
import numpy as np
from scipy.special import logsumexp

from cases import DTYPE, EPS, Table, noise, whole

mp.mp.dps = 60
np.seterr(all="ignore")
table = Table()
INF, NAN = math.inf, math.nan
SMALLEST = {"double": 2.3e-308, "float": 1.2e-38}
LARGEST = {"double": 1.7976931348623157e308, "float": 3.4028234663852886e38}


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def positive(f, limit):
    def g(a, b):
        if math.isnan(a) or math.isnan(b) or a < 0:
            return NAN
        if a == 0:
            return INF
        return limit if math.isinf(a) or math.isinf(b) else f(mp.mpf(a), mp.mpf(b))

    return g


def incomplete(upper):
    def g(a, x):
        if math.isnan(a) or math.isnan(x) or a < 0 or x < 0:
            return NAN
        if a == 0:
            return 0.0 if upper else 1.0
        if x == 0 or math.isinf(x):
            return float((x == 0) == upper)
        return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)

    return g


def sum_of_two(x, y):
    if not (math.isfinite(x) and math.isfinite(y)):
        return float(np.logaddexp(x, y))
    return mp.log(mp.exp(mp.mpf(x)) + mp.exp(mp.mpf(y)))


def times_log(x, y):
    if math.isnan(x) or math.isnan(y):
        return NAN
    return 0.0 if x == 0 else float(x * np.log(y)) if y == 0 or math.isinf(y) else x * mp.log(mp.mpf(y))


EXACT = {
    "beta": positive(lambda a, b: mp.exp(log_beta(a, b)), 0.0),
    "lbeta": positive(log_beta, -INF),
    "gammainc": incomplete(False),
    "gammaincc": incomplete(True),
    "logaddexp": sum_of_two,
    "xlogy": times_log,
}
BY_NUMPY = {
    "floor_divide": np.floor_divide,
    "floor_mod": np.mod,
    "nextafter": np.nextafter,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "copysign": np.copysign,
}


def values(f, x, y, kind):
    x, y = (np.asarray(v).astype(DTYPE[kind]) for v in (x, y))
    if f in BY_NUMPY:
        return np.asarray(BY_NUMPY[f](x, y))
    x, y = np.broadcast_arrays(x, y)
    result = []
    for a, b in zip(x.ravel(), y.ravel()):
        r = float(mp.re(EXACT[f](float(a), float(b))))
        result.append(r if abs(r) <= LARGEST[kind] or math.isnan(r) else math.copysign(INF, r))
    return np.array(result).reshape(x.shape)


def cases(f, x, y, rel=32, absolute=0.0):
    """absolute counts roundings."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    cube = (2, 2, 2)
    for name, kind, u, v in (
        ("scalars", "double", x[1], y[1]),
        ("scalars", "float", x[1], y[1]),
        ("vectors", "double", x, y),
        ("vectors", "float", x, y),
        ("left", "double", x[0], y[:8].reshape(cube)),
        ("right", "float", x[:8].reshape(cube), y[2]),
        ("empty", "double", x[:0].reshape(0, 2), y[0]),
        ("hidden", "double", x[:1], y[:1]),
    ):
        # Nine digits of a float are not the float itself.
        least = 0.1 if kind == "float" else 0
        table.add(f"{f} {name}", values(f, u, v, kind), kind, rel=max(rel, least), absolute=absolute * EPS[kind] + 4 * SMALLEST[kind] * (rel > 0))


def plus(*parts):
    return np.concatenate([np.asarray(p, dtype=float) for p in parts])


a = plus(abs(noise(1, [17])) * 6, [8.5, 0.001, 3, 150, 20])
b = plus(abs(noise(2, [17])) * 6, [20, 0.02, 90, 170, 0.5])
# Results as small as e^-230: two roundings more per factor e.
cases("beta", plus(a, [0, NAN, -1, INF, 2, INF]), plus(b, [1, 1, 1, 2, INF, INF]), rel=200)
cases("lbeta", plus(a, [0, NAN, -1, 1e5, INF, 2, INF]), plus(b, [1, 1, 1, 2e7, 2, INF, INF]), absolute=64)
g = plus(a, [250, 250, 5000, 1e5, 40, 1e-3, 2, 2, 0, -1, NAN])
h = plus(b, [240, 290, 5010, 99800, 3, 0.3, 0, INF, 1, 1, 1])
cases("gammainc", g, h, rel=200)
cases("gammaincc", g, h, rel=200)
s = plus(noise(3, [16]) * 5, [0, 7, -7, 6, INF, 1, 0, NAN])
t = plus(noise(4, [16]) * 3, [2, -2, 2, -3, INF, -INF, 0, 1])
cases("logaddexp", s, t, absolute=32)
cases("xlogy", abs(s), abs(t))
cases("floor_divide", s, t, rel=0)
cases("floor_mod", s, t, rel=4)
cases("nextafter", plus(s, [1e-30, -1e-30, 1]), plus(t, [1, 1, 1]), rel=0)
cases("atan2", s, t, rel=4)
cases("hypot", s, t, rel=4)
cases("fmod", s, t, rel=0)
cases("copysign", s[:20], t[:20], rel=0)

m = whole(5, [17], 100) - 50
n = whole(6, [17], 9) + 1
table.exact("floor_divide", m // n, "int")
table.exact("floor_divide", m // -3, "int")
table.exact("floor_divide", -17 // n, "int")
table.exact("floor_mod", m % n, "int")
table.exact("floor_mod", m % -n, "long")
table.exact("floor_mod", m % 7, "byte")
small = np.array([4.9e-324, 1e-310, 2.2250738585072014e-308, 3e-308, 1e-300, 1e-291, 0])
table.exact("nextafter small", np.nextafter(small, -1), "double")
large = np.array([1.7976931348623157e308, 1e308, -1.7976931348623157e308])
table.exact("nextafter large", np.nextafter(large, [INF, INF, 0]), "double")


def part(a, b, x):
    return float(mp.betainc(a, b, 0, x, regularized=True))


p = abs(noise(7, [17])) * 0.49 + 0.005
f = p.astype(np.float32).astype(float)
table.add("betainc vectors", [part(*v) for v in zip(a[:17], b[:17], p)], "double", rel=100)
table.add("betainc scalars", part(2.5, 30, mp.mpf(0.05)), "double", rel=40)
table.add("betainc floats", [part(2.5, mp.mpf(float(np.float32(0.3))), v) for v in f], "float", rel=4)
table.add("betainc large", [part(400, 700, v) for v in (0.3, 0.35, 0.363, 0.37, 0.45)], "double", rel=200)
table.add("betainc edges", [0, 1, NAN, NAN, NAN], "double", rel=0)
table.add("betainc all at 0", [0, 1, 1], "double", rel=0)
table.add("betainc all at 1", [0, 0, 1], "double", rel=0)
table.add("betainc nowhere", [0, NAN, 1], "double", rel=0)
table.add("betainc cube", np.array([part(0.1, 0.2, v) for v in p[:16]]).reshape(2, 2, 4), "double", rel=40)

x = noise(8, [3, 4, 5]) * 20
xf = noise(8, [3, 4, 5]).astype(np.float32)
xf = (x.astype(np.float32)).astype(float)


def summed(name, value, kind):
    table.add(name, value, kind, rel=8, absolute=8 * EPS[kind])


summed("logsumexp", logsumexp(x), "double")
summed("logsumexp", logsumexp(xf), "float")
summed("logsumexp", 3.0, "double")
summed("logsumexp 0", logsumexp(x, axis=0), "double")
summed("logsumexp 1", logsumexp(xf, axis=1), "float")
summed("logsumexp -1", logsumexp(x, axis=-1), "double")
summed("logsumexp 0 2", logsumexp(x, axis=(0, 2)), "double")
summed("logsumexp -1 0", logsumexp(xf, axis=(-1, 0)), "float")
summed("logsumexp 2 1", logsumexp(x, axis=(2, 1)), "double")
summed("logsumexp all", logsumexp(x), "double")
summed("logsumexp none", -INF, "double")
summed("logsumexp empty axis", [-INF, -INF], "double")
summed("logsumexp edges", [INF, -INF, NAN, 1000 + math.log(2), -1000 + math.log1p(math.exp(-1))], "double")
summed("logsumexp 17", logsumexp(noise(9, [17, 2], "float"), axis=0), "float")
summed("logsumexp 15", logsumexp(noise(10, [2, 15], "float"), axis=1), "float")


def mix(t, a, b):
    return np.logaddexp(np.log(t) + a, np.log1p(-t) + b)


def mixed(name, value, kind):
    table.add(name, value, kind, rel=16, absolute=16 * EPS[kind])


sf, tf = s.astype(np.float32).astype(float), t.astype(np.float32).astype(float)
tenths = float(np.float32(0.3))
mixed("log_mix", mix(0.3, s, t), "double")
mixed("log_mix", mix(tenths, sf, 1.0), "float")
mixed("log_mix", tf, "float")
mixed("log_mix", mix(p, a[:17], b[:17]), "double")
mixed("log_mix", [[5, 1], [NAN, 1]], "double")
table.write()
