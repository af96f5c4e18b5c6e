"""References for numerical-polynomial.sac: numpy; zeros in many digits by mpmath."""

import mpmath
import numpy as np

from cases import EPS, Table, noise

t = Table()
mpmath.mp.dps = 60


def aligned(a, n):
    return np.concatenate([np.zeros(n - len(a)), a])


def pair(kind, a, b):
    m, n = len(a), len(b)
    k = max(m, n)
    t.add(f"add {m} {n}", aligned(a, k) + aligned(b, k), kind, 4)
    t.add(f"sub {m} {n}", aligned(a, k) - aligned(b, k), kind, 4)
    t.summed(f"mul {m} {n}", np.convolve(a, b) if m and n else np.zeros(0), kind, 8)
    if m and n:
        q, r = np.polydiv(a, b)
        # Terms grow with powers of what the first coefficient is divided by.
        size = 8 * (1 + np.abs(b).max() / abs(b[0])) ** m
        t.summed(f"div {m} {n}", q, kind, size)
        t.summed(f"rest {m} {n}", r, kind, size)


def one_alone(kind, c):
    k = len(c)
    t.summed(f"val {k}", np.polyval(c, noise(3, [2, 3], kind)) * np.ones([2, 3]), kind, 2 * 2.0**k)
    t.summed(f"val of a number {k}", np.polyval(c, 0.5), kind, 4)
    t.add(f"der {k}", np.polyder(c), kind, 4)
    t.add(f"der 2 {k}", np.polyder(c, 2), kind, 4)
    t.add(f"int {k}", np.polyint(c), kind, 4)
    t.add(f"int 3 {k}", np.polyint(c, 3), kind, 4)


def fit(name, kind, x, y, deg):
    c = np.polyfit(x, y, deg)
    v = np.vander(x, deg + 1)
    scale = np.linalg.norm(v, axis=0)
    cond = np.linalg.cond(v / scale)
    size = np.abs(c).max() * cond**1.5 / scale.min() * scale.max() if deg else 1
    t.add(name, c, kind, 8, 8 * EPS[kind] * size)


def everything(kind):
    for m, n in [(4, 3), (2, 5), (1, 1), (0, 2)]:
        pair(kind, noise(1, [m], kind), noise(2, [n], kind))
    for k in range(0, 5, 2):
        one_alone(kind, noise(4, [k], kind))
    x = noise(6, [11], kind)
    for k in range(0, 5, 2):
        fit(f"fit {k}", kind, x, noise(5, [11], kind), k)
    fit("fits", kind, noise(6, [9], kind) + 10, noise(7, [9, 2], kind), 2)
    t.summed("from roots", np.poly(noise(8, [5], kind)), kind, 100)


def zeros(name, c, rel=8):
    c = np.trim_zeros(np.asarray(c, float), "f")
    ends = len(c) - len(np.trim_zeros(c, "b"))
    c = c[: len(c) - ends]
    if np.isnan(c).any():
        t.exact(name, np.full((len(c) - 1, 2), np.nan), "double")
        return
    z = mpmath.polyroots([mpmath.mpf(x) for x in c], maxsteps=500, extraprec=500) if len(c) > 1 else []
    d = np.polyder(np.abs(c)) if len(c) > 1 else None
    rows, slack = [], 0
    for r in z:
        r = mpmath.mpc(r)
        # A rounding of each coefficient moves the zero by so much.
        terms = mpmath.polyval([mpmath.mpf(abs(x)) for x in c], abs(r))
        slope = abs(mpmath.polyval([mpmath.mpf(x) for x in np.polyder(c)], r))
        slack = max(slack, float(terms / slope) * EPS["double"] if slope > 1e-9 * terms else 0)
        im = float(r.imag) if abs(r.imag) > 1e-20 * abs(r) else 0.0
        rows.append((float(r.real) if abs(r.real) > 1e-40 * abs(r) else 0.0, im))
    # As SaC orders them: by magnitude, of conjugates the positive one first.
    rows.sort(key=lambda r: (-round(np.hypot(*r) * 1e9) / 1e9, -r[1]))
    rows += [(0.0, 0.0)] * ends
    t.add(name, np.array(rows).reshape(-1, 2), "double", rel, 4 * slack)


everything("float")
everything("double")
zeros("cubic", [1, -6, 11, -6])
zeros("conjugates", [1, 2, 5])
zeros("many", noise(9, [14]))
zeros("zeros at both ends", [0, 0, 2, -3, -2, 0, 0])
t.add("wide", [[1e150, 0], [1e-20, 0]], "double", 8)
zeros("huge", [1e300, -3e300, 2e300])
t.add("double", [[1, 0], [1, 0]], "double", 0, 1e-7)
zeros("twelve", np.poly(np.arange(1, 13)))
t.add("beyond all numbers", [[-np.inf, 0], [-1, 0]], "double", 8)
t.exact("conjugates side by side", 4, "int")
zeros("constant", [3])
zeros("none", [0, 0])
zeros("nothing", [])
zeros("not a number", [1, np.nan, 1])
t.write()
