"""References for numerical-curves.sac: numpy, scipy."""

import warnings

import numpy as np
from scipy import integrate, interpolate, ndimage

from cases import EPS, Table, noise

warnings.filterwarnings("ignore")
t = Table()
nan = np.nan


def curves(kind, xp, fp):
    n = len(xp)
    x = noise(3, [4, 4], kind) * 3 + 4
    # Pieces go on outside, where they are great; slopes have the size of the steepest line.
    steep = np.abs(np.diff(fp) / np.diff(xp)).max()
    far = np.abs(x).max()
    near = np.diff(xp).min()

    def add(name, value, order=0):
        # The terms of a cubic with such slopes.
        size = 4 * (1 + steep * far * (1 + far / near) ** 2) / near**order
        t.add(name, value, kind, 16, 4 * EPS[kind] * size)

    t.add(f"interp {n}", np.interp(x, xp, fp), kind, 16, 4 * EPS[kind] * (2 + steep * far))
    add(f"spline {n}", interpolate.CubicSpline(xp, fp)(x))
    for k in range(4):
        ends = ["not-a-knot", "natural", ((1, 1), (1, -2))][k % 3]
        add(f"spline {n} {k}", interpolate.CubicSpline(xp, fp, bc_type=ends)(x, k), k)
    add(f"pchip {n}", interpolate.PchipInterpolator(xp, fp)(x))
    add(f"akima {n}", interpolate.Akima1DInterpolator(xp, fp)(x))
    t.add(f"at points {n}", [fp] * 3, kind, 4, 8 * EPS[kind] * (1 + steep))


def samples(kind, y, x):
    m, n = y.shape
    size = 2 * (1 + (x[-1] - x[0] if n else 0))
    ratio = (np.diff(x).max() / np.diff(x).min()) if n > 1 else 1
    tenth = float(np.float32(0.1)) if kind == "float" else 0.1
    both = lambda f: [f(y), f(y, dx=tenth), f(y, x=x)]
    t.summed(f"trapezoid {n}", both(integrate.trapezoid) if n else np.zeros((3, m)), kind, size + 2 * n)
    t.summed(f"simpson {n}", both(integrate.simpson) if n else np.zeros((3, m)), kind, (size + 2 * n) * ratio**2)
    run = lambda f: [f(y, dx=tenth), f(y, x=x)] if n > 1 else np.zeros((2, m, 0))
    t.summed(f"running {n}", run(integrate.cumulative_trapezoid), kind, size + 2 * n)
    t.summed(f"running simpson {n}", run(integrate.cumulative_simpson), kind, (size + 2 * n) * ratio**2)
    if n > 1:
        g = [np.gradient(y, axis=1), np.gradient(y, tenth, axis=1), np.gradient(y, x, axis=1)]
        t.summed(f"gradient {n}", g, kind, 40 + 4 * ratio / np.diff(x).min())


def everything(kind):
    for n in range(2, 6):
        curves(kind, np.cumsum(noise(1, [n], kind) + 2.125), noise(2, [n], kind))
    curves(kind, np.array([0.0, 1, 2, 3, 5, 6, 7, 8]), np.array([1.0, 1, 1, 3, 2, 2, 0, -5]))
    t.exact("one point", [7, 7, nan], kind)
    t.exact("steps", [0, 3, 3.5, 4], kind)
    t.exact("number", [3, nan], kind)
    a = noise(4, [3, 4], kind)
    at = np.array([[[0, 0], [2, 3], [0.5, 1.25]], [[2, 2.5], [1.75, 3], [2.1, 0]]])
    between = lambda a, at: ndimage.map_coordinates(a, np.moveaxis(at, -1, 0), order=1)
    t.add("between", between(a, at), kind, 8, 16 * EPS[kind])
    t.exact("outside", [0, nan, 0], kind)
    t.summed("between 3", between(noise(5, [2, 3, 1], kind), np.array([[0.5, 1.5, 0], [1, 0.25, 0]])), kind, 4)
    for n in range(8):
        samples(kind, noise(6, [2, n], kind), np.cumsum(noise(7, [n], kind) + 2.125))
    b = noise(8, [3, 5, 2], kind)
    x = [0, 1, 3, 4, 6]
    value = [
        integrate.trapezoid(b, axis=1), integrate.simpson(b, dx=0.5, axis=1), integrate.romb(b, 0.5, axis=1),
        integrate.trapezoid(b, x, axis=1),
    ]
    t.summed("axes", value, kind, 16)
    t.summed("gradient 0", np.gradient(b, 0.5, axis=0), kind, 8)
    t.summed("gradient 1", np.gradient(b, x, axis=1), kind, 8)
    t.summed("cumulative 1", [f(b, axis=1) for f in (integrate.cumulative_trapezoid, integrate.cumulative_simpson)], kind, 16)
    y = [noise(9, [n], kind) for n in (17, 2, 9)]
    t.summed("romberg", [integrate.romb(y[0]), integrate.romb(y[1], 3), integrate.romb(y[2], 0.25)], kind, 32)


everything("float")
everything("double")
t.write()
