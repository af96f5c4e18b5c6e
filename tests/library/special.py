"""References of special.sac, from mpmath with 60 digits; special values as SciPy has them."""

import math

import mpmath as mp
import numpy as np
import scipy.special as sp

from cases import DTYPE, EPS, Table, noise

mp.mp.dps = 60
table = Table()
SMALLEST = {"double": 2.3e-308, "float": 1.2e-38}
LARGEST = {"double": 1.7976931348623157e308, "float": 3.4028234663852886e38}


def inverse(p):
    if abs(p) < 1e-20:
        return p * mp.sqrt(mp.pi) / 2
    z = mp.mpf(float(sp.erfinv(float(p))))
    for _ in range(6):
        d = (mp.erf(z) - p) / (2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
        z -= d / (1 + z * d)
    return z


def wide(f):
    """With as many digits as exp of some thousand needs."""

    def g(x):
        with mp.workdps(60 + min(4000, int(abs(x)))):
            return +f(x)

    return g


EXACT = {
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": inverse,
    "lgamma": lambda x: mp.re(mp.loggamma(x)),
    "gamma": mp.gamma,
    "digamma": mp.digamma,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "logit": lambda p: mp.log(p) - mp.log1p(-p) if p < 0.25 else mp.log(p / (1 - p)),
    "log1p_exp": wide(lambda x: mp.log1p(mp.exp(x))),
    "log1m_exp": wide(lambda x: mp.log(-mp.expm1(x))),
    "sinc": mp.sincpi,
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "exp2": lambda x: mp.mpf(2) ** x,
    "square": lambda x: x * x,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "round": lambda x: mp.mpf(float(np.round(float(x)))),
}
INF, NAN = math.inf, math.nan
# Values at infinities, zeros and poles: (x, result); None: NaN for what lies outside of the domain.
LIMITS = {
    "erf": {INF: 1, -INF: -1},
    "erfc": {INF: 0, -INF: 2},
    "erfinv": {1.0: INF, -1.0: -INF, 1.5: NAN, -1.5: NAN},
    "lgamma": {INF: INF, -INF: INF, 1e30: sp.gammaln(1e30), -1e30: INF},
    "gamma": {INF: INF, 0.0: INF, -3.0: NAN, 1e30: INF},
    "digamma": {INF: INF, -3.0: NAN, 1e30: math.log(1e30), -INF: NAN, -1.0: NAN, -2.0: NAN},
    "expit": {INF: 1, -INF: 0, 1e30: 1, -1e30: 0},
    "logit": {0.0: -INF, 1.0: INF, 1.5: NAN, -0.5: NAN},
    "log1p_exp": {INF: INF, -INF: 0, 1e30: 1e30, -1e30: 0},
    "log1m_exp": {-INF: 0, 0.0: -INF, -1e30: 0},
    "sinc": {INF: 0, -INF: 0, 1e30: 0, -1e30: 0},
    "i0": {INF: INF, -INF: INF, 1e30: INF, -1e30: INF},
    "i1": {INF: INF, -INF: -INF, 1e30: INF, -1e30: -INF},
    "j0": {INF: 0, -INF: 0},
    "j1": {INF: 0, -INF: 0},
    "exp2": {INF: INF, -INF: 0, 1e30: INF, -1e30: 0},
    "square": {INF: INF, -INF: INF},
    "rsqrt": {INF: 0},
    "round": {INF: INF, -INF: -INF},
}


def value(f, x, kind):
    x = float(x)
    if math.isnan(x):
        return NAN
    for at, r in LIMITS[f].items():
        if x == float(DTYPE[kind](at)):
            return float(r)
    if f in ("lgamma", "digamma", "gamma") and x < 0 and x == math.floor(x):
        return INF if f == "lgamma" else NAN
    r = mp.re(EXACT[f](mp.mpf(x)))
    if abs(r) > LARGEST[kind] * (1 + EPS[kind] / 4):
        return math.copysign(INF, r)
    return float(r)


def values(f, x, kind):
    with np.errstate(over="ignore"):
        x = np.asarray(x).astype(DTYPE[kind])
    return np.array([value(f, v, kind) for v in x.ravel()]).reshape(x.shape)


def cases(f, x, rel=16):
    x = np.asarray(x)
    for name, kind, v in (
        ("scalar", "double", x[3]),
        ("scalar", "float", x[3]),
        ("vector", "double", x),
        ("vector", "float", x),
        ("cube", "double", x[:8].reshape(2, 1, 4)),
        ("empty", "float", x[:0].reshape(3, 0)),
        ("hidden", "double", x[:1]),
    ):
        if f in PLAIN:
            r, t = PLAIN[f](np.asarray(v).astype(DTYPE[kind]))
            table.exact(f"{f} {name}", r, t)
        else:
            table.add(f"{f} {name}", values(f, v, kind), kind, rel=rel, absolute=4 * SMALLEST[kind])


def wavy(f, x, scale):
    for kind in ("double", "float"):
        table.add(f"{f} wavy", values(f, x, kind), kind, rel=16, absolute=16 * EPS[kind] * scale)


PLAIN = {
    "signbit": lambda x: (np.signbit(x), "bool"),
    "isfinite": lambda x: (np.isfinite(x), "bool"),
    "finite": lambda x: (np.isfinite(x), "bool"),
    "isnan": lambda x: (np.isnan(x), "bool"),
    "isinf": lambda x: (np.isinf(x), "bool"),
    "sign": lambda x: (np.nan_to_num(np.sign(x), nan=0), "int"),
}

edges = [0.0, 1e-30, -1e-30, 1e30, INF, -INF, NAN, 1.0]
near = noise(1, [17])
mid = noise(2, [17]) * 4
far = noise(3, [15]) * 40
every = np.concatenate([near, mid, far, edges])
positive = np.concatenate([abs(near), abs(mid), abs(far), [1, 2, 1e-30, 1e30, INF, NAN]])
unit = np.concatenate([abs(near) / 2, [0.5, 0.49, 0.51, 1e-30, 0, 1, 1.5, -0.5, 0.999, NAN]])


def plus(*parts):
    return np.concatenate([np.asarray(p, dtype=float) for p in parts])


cases("erf", every)
cases("erfc", every)
cases("erfinv", plus(unit, -unit))
cases("lgamma", positive)
wavy("lgamma", plus(-positive, [-3e38, -1e306]), 100)
cases("gamma", plus(near, mid, far / 4, [0, 1e-30, 1e30, 34.5, -3, INF, NAN]))
cases("digamma", positive)
wavy("digamma", plus(near, -mid, [-1e-30, -3]), 30)
cases("expit", every)
cases("logit", unit)
cases("log1p_exp", every)
cases("log1m_exp", plus(-positive, [0, -0.6931]))
cases("sinc", plus(every, [3, -7]))
cases("i0", plus(every, [88]))
cases("i1", plus(every, [88]))
cases("j0", plus(near, mid, [0, 1e-20, 2.404825557695773, 5.5201, 8, 7.9999]))
wavy("j0", far, 0.3)
cases("j1", plus(near, mid, [0, 1e-20, 3.8317059702075125, 7.0156, 8, 7.9999]))
wavy("j1", plus(far, edges), 0.3)
cases("exp2", every)
cases("square", every)
cases("rsqrt", positive)
cases("round", plus(every, [0.5, 1.5, 2.5, -0.5]))
cases("signbit", plus(near, mid, [0.0, -0.0, INF, -INF]))
for f in ("isfinite", "isnan", "isinf", "finite", "sign"):
    cases(f, every)
for f, name, x, kinds in (
    ("erf", "15", far, ("double", "float")),
    ("lgamma", "16", abs(near[:16]), ("double", "float")),
    ("j0", "17", near, ("double",)),
    ("expit", "17", near, ("float",)),
):
    for kind in kinds:
        table.elementwise(f"{f} {name}", values(f, x, kind), kind, ulps=16)
table.write()
