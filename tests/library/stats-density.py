"""References for stats-density.sac: the formulas in NumPy, beside scipy, scikit-learn and statsmodels where they have them."""

from math import factorial, gamma, pi, sqrt

import numpy as np
from scipy.stats import gaussian_kde, norm
from sklearn.neighbors import KernelDensity
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from cases import EPS, Table, noise

t = Table()


def plugin(x):
    """The width, and how much rounding of sums moves it, relatively: each sum's terms over the sum."""
    n, s = len(x), x.std(ddof=1) if len(x) > 1 else 0
    if s == 0:
        return np.nan, 1
    z = (x - x.mean()) / s
    d = z[:, None] - z
    k6 = lambda u: (u**6 - 15 * u**4 + 45 * u**2 - 15) * norm.pdf(u)
    k4 = lambda u: (u**4 - 6 * u**2 + 3) * norm.pdf(u)
    g1 = (-2 * k6(0) / (105 / (32 * sqrt(pi)) * n)) ** (1 / 9)
    six = k6(d / g1)
    g2 = (-2 * k4(0) / (six.sum() / (n * n * g1**7) * n)) ** (1 / 7)
    four = k4(d / g2)
    h = s * (1 / (2 * sqrt(pi)) / (four.sum() / (n * n * g2**5) * n)) ** 0.2
    return h, abs(six).sum() / abs(six.sum()) + abs(four).sum() / abs(four.sum())


def binned(x, bins):
    """The same where each pair of points is the four pairs of places beside them."""
    at = (x - x.min()) / (x.max() - x.min()) * (bins - 1)
    k = np.minimum(at.astype(int), bins - 2)
    f = at - k
    n, s = len(x), x.std(ddof=1)
    step = (x.max() - x.min()) / (bins - 1) / s

    def total(kernel, g):
        value, size = n * kernel(0), 0
        for p, u in ((k, 1 - f), (k + 1, f)):
            for q, v in ((k, 1 - f), (k + 1, f)):
                terms = np.outer(u, v) * kernel((p[:, None] - q) * step / g)
                value, size = value + terms.sum() - np.trace(terms), size + abs(terms).sum()
        return value, size / abs(value)

    k6 = lambda u: (u**6 - 15 * u**4 + 45 * u**2 - 15) * norm.pdf(u)
    k4 = lambda u: (u**4 - 6 * u**2 + 3) * norm.pdf(u)
    g1 = (-2 * k6(0) / (105 / (32 * sqrt(pi)) * n)) ** (1 / 9)
    six, rounding6 = total(k6, g1)
    g2 = (-2 * k4(0) / (six / (n * n * g1**7) * n)) ** (1 / 7)
    four, rounding4 = total(k4, g2)
    return s * (1 / (2 * sqrt(pi)) / (four / (n * n * g2**5) * n)) ** 0.2, rounding6 + rounding4


def lscv(x, grid):
    n, d = x.shape
    if n < 2:
        return np.full(len(grid), np.nan), 1
    cov = np.cov(x.T).reshape(d, d)
    e = x[:, None] - x
    y = np.einsum("ijk,kl,ijl->ij", e, np.linalg.inv(cov), e)[np.triu_indices(n, 1)]
    size = sqrt(np.linalg.det(cov))
    twice, once = (4 * pi) ** (-d / 2) / size, (2 * pi) ** (-d / 2) / size
    part = lambda f, h: h**-d * (2 / n**2 * f(twice * np.exp(-y / 4 / h**2), 2 * once * np.exp(-y / 2 / h**2)).sum() + twice / n)
    return np.array([part(np.subtract, h) for h in grid]), max(part(np.add, h) for h in grid)


def against_statsmodels(x, h):
    """cv_ls divides one of its two sums by n(n-1); the same with n^2 must be the error here."""
    n, s = len(x), x.std(ddof=1)
    d = (x[:, None] - x) / (h * s)
    twice = norm.pdf(d, scale=sqrt(2)).sum() / (n * n * h * s)
    once = 2 * (norm.pdf(d).sum() - n * norm.pdf(0)) / (h * s)
    theirs = KDEMultivariate(x, "c", bw=[h * s]).imse(np.array([h * s]))
    assert np.isclose(theirs, twice - once / (n * (n - 1)))
    assert np.isclose(lscv(x[:, None], [h])[0][0], twice - once / n**2)


def radial(at, x, h, kernel):
    d = x.shape[1]
    r = np.linalg.norm(at[:, None] - x, axis=2) / h
    ball = pi ** (d / 2) / gamma(d / 2 + 1)
    form, area = [
        (lambda: np.exp(-r * r / 2), (2 * pi) ** (d / 2)), (lambda: np.maximum(1 - r * r, 0), 2 * ball / (d + 2)),
        (lambda: (r <= 1) * 1.0, ball), (lambda: np.exp(-r), ball * factorial(d)),
        (lambda: np.maximum(1 - r, 0), ball / (d + 1)), (lambda: np.where(r < 1, np.cos(r * pi / 2), 0), None),
    ][kernel]
    name = ["gaussian", "epanechnikov", "tophat", "exponential", "linear", "cosine"][kernel]
    theirs = np.exp(KernelDensity(bandwidth=h, kernel=name).fit(x).score_samples(at))
    if area:
        assert np.allclose(form().mean(1) / area / h**d, theirs)
    return theirs


def shares(x, h, lo, hi):
    a, b = (lo - x) / h, (hi - x) / h
    flip = a + b > 0
    p = norm.cdf(np.where(flip, -a, b)) - norm.cdf(np.where(flip, -b, a))
    return p, x * p + h * (norm.pdf(a) - norm.pdf(b))


for kind in ("float", "double"):
    eps = EPS[kind]
    x, few, one = noise(1, [33], kind), (noise(2, [15], kind) + 100), noise(3, [1], kind)
    if kind == "float":
        few = few.astype(np.float32).astype(float)
    y, at, at3 = noise(4, [17, 3], kind), noise(5, [8, 1], kind), noise(6, [4, 3], kind)
    n, d = y.shape
    rule = lambda n, d: (4 / ((d + 2) * n)) ** (1 / (d + 4))
    steps = lambda h, m: np.linspace(h / 4, 4 * h, m)
    grid, grid3 = steps(rule(33, 1), 5), steps(rule(n, d), 17)
    for name, data in (("plugin", x), ("plugin far", few), ("plugin one", one), ("plugin equal", 0 * x)):
        h, terms = plugin(data)
        t.add(name, h, kind, rel=8 * terms)
    for bins in (2, 40, 401, 2100):
        h, terms = binned(x, bins)
        t.add(f"plugin binned {bins}", h, kind, rel=8 * terms)
    t.add("plugin binned as exact", plugin(x)[0], kind, absolute=1e-3 * plugin(x)[0])
    h = plugin(noise(7, [700], kind))[0]
    t.add("plugin binned as exact of many", h, kind, absolute=1e-3 * h)
    t.exact("plugin binned none", np.full(4, np.nan), kind)
    t.elementwise("grid", grid, kind)
    t.elementwise("grid 3", steps(rule(n, d), 4), kind)
    for h in grid[1:]:
        against_statsmodels(x, h)
    g, size = lscv(x[:, None], grid)
    t.elementwise("lscv", grid[g.argmin()], kind)
    t.summed("errors", g, kind, size)
    g, size = lscv(y, grid3)
    t.elementwise("lscv 3", grid3[g.argmin()], kind)
    t.add("errors 3", g, kind, rel=4, absolute=8 * 3 * eps * size)
    t.summed("errors one", lscv(one[:, None], grid)[0], kind, 1)
    whole = gaussian_kde(x), gaussian_kde(y.T)
    assert np.isclose(whole[1].silverman_factor(), rule(n, d))
    t.elementwise("scott", whole[0].scotts_factor(), kind)
    t.elementwise("scott 3", whole[1].scotts_factor(), kind)
    t.elementwise("silverman", whole[0].silverman_factor(), kind)
    t.elementwise("silverman 3", whole[1].silverman_factor(), kind)
    # Exponents amplify the rounding of squared distances.
    t.add("density", radial(at, x[:, None], 0.5, 0).reshape(2, 4), kind, rel=32)
    t.add("density scalar", radial(np.array([[0.25]]), x[:, None], 0.5, 0)[0], kind, rel=32)
    t.add("density none", np.full((2, 4), np.nan), kind)
    t.add("density nowhere", np.zeros(0), kind)
    t.add("density 3", radial(at3, y, 0.75, 0).reshape(2, 2), kind, rel=64)
    t.add("density scaled", gaussian_kde(y.T, 0.75)(at3.T).reshape(2, 2), kind, rel=64)
    t.add("density scaled 1", gaussian_kde(x, 0.75)(at.T).reshape(2, 4), kind, rel=64)
    for k in range(6):
        t.add("kernel", radial(at, x[:, None], 0.75, k).reshape(2, 4), kind, rel=32)
        t.add("kernel 3", radial(at3, y, 2.5, k).reshape(2, 2), kind, rel=32)
    p, s = shares(x, 0.5, -0.5, 1.25)
    t.summed("count", p.sum(), kind, p.sum())
    t.summed("sum", s.sum(), kind, (abs(x) * p + 0.5).sum())
    t.add("mean", s.sum() / p.sum(), kind, rel=8, absolute=8 * eps * (abs(x) * p + 0.5).sum() / p.sum())
    t.add("tail", shares(x, 0.25, 3, 4)[0].sum(), kind, rel=128)
    t.elementwise("everything", 33, kind)
    p, s = zip(*(shares(y[:, k], 0.5, lo, hi) for k, (lo, hi) in enumerate([(-1, 1.5), (-0.5, 1), (-2, 0.5)])))
    product = lambda k: np.prod([s[j] if j == k else p[j] for j in range(3)], axis=0)
    count, total = np.prod(p, axis=0).sum(), np.array([product(k).sum() for k in range(3)])
    size = max(abs(product(k)).sum() for k in range(3)) + 17
    t.summed("box count", count, kind, count * 3)
    t.summed("box sum", total, kind, size)
    t.add("box mean", total / count, kind, rel=16, absolute=8 * eps * size / count)
    for _ in range(4):
        t.exact("lscv none", np.full(4, np.nan), kind)
    t.exact("plugin rounded", np.nan, kind)
    g, size = lscv(x[:, None], [0.5])
    t.summed("lscv widths", [0.5, np.nan, np.nan, g[0], np.nan], kind, size)
    for _ in range(3):
        t.exact("no width", np.full(12, np.nan), kind)
w = 1e25 / sqrt(2 * pi)
t.add("tiny width", [w / 4, 0, w / 2 * (1 + np.exp(-2)), 0.75 * 1e25 / 4], "float", rel=8)
t.add("tiny width 2", [np.inf, 0], "float")
t.add("tiny double", [0.5e200 / sqrt(2 * pi), 0], "double", rel=8)
t.write()
