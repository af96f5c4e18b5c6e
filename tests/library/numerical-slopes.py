"""References for numerical-slopes.sac: differences of numpy and scipy."""

import numpy as np
from scipy import integrate, interpolate, ndimage

from cases import Table, differences

t = Table()
at, c = np.array([0.3, 1.2, 2.5]), np.array([1.0, 2, 3])
x, y = np.array([0, 1, 2, 3.5, 4]), np.array([1.0, 0, 2, 1, 5])
a = np.array([[1.0, 2], [3, 5]])
between = lambda a, p: float(ndimage.map_coordinates(a, np.reshape(p, [2, 1]), order=1)[0])
cases = {
    "value_of": (lambda c: np.polyval(c, at).sum(), c),
    "value_at": (lambda x: np.polyval(c, x).sum(), at),
    "product": (lambda c: np.convolve(c, [1, -2]) @ np.arange(4), c),
    "fit": (lambda y: np.polyfit(x, y, 2).sum(), y),
    "line_of": (lambda y: np.interp(at, x, y).sum(), y),
    "line_at": (lambda at: np.interp(at, x, y).sum(), at),
    "spline": (lambda y: interpolate.CubicSpline(x, y)(at).sum(), y),
    "monotone": (lambda y: interpolate.PchipInterpolator(x, y)(at).sum(), y),
    "bent": (lambda y: interpolate.Akima1DInterpolator(x, y)(at).sum(), y),
    "area": (lambda y: integrate.simpson(y, x=x) + integrate.romb(y), y),
    "areas": (lambda x: integrate.cumulative_simpson(y, x=x).sum(), x),
    "steep": (lambda x: np.gradient(y, x).sum(), x),
    "between": (lambda a: between(a, [0.5, 0.25]), a),
    "place": (lambda p: between(a, p), np.array([0.5, 0.25])),
}
for name, (f, at_which) in cases.items():
    t.add(name, differences(f, at_which), "double", 0, 1e-7)
t.write()
