"""References for stats-distributions.sac: scipy.stats in double precision, mpmath where that loses digits."""

import warnings

import mpmath
import numpy as np
from scipy import stats
from scipy.special import betaln, gammaln, expit

from cases import Table, noise, whole

mpmath.mp.dps = 60
warnings.filterwarnings("ignore")
t = Table()
inf, nan = np.inf, np.nan


def sums(name, kind, parts):
    """Sums of log densities, each given as an array; the size of terms is a bound on that of their parts."""
    parts = [np.asarray(p, float) for p in parts]
    size = [np.abs(p[np.isfinite(p)]).sum() + 10 * p.size for p in parts]
    t.summed(name, [p.sum() for p in parts], kind, size)


TWO = {
    "normal": lambda a, b: stats.norm(a, b), "cauchy": lambda a, b: stats.cauchy(a, b), "laplace": lambda a, b: stats.laplace(a, b),
    "logistic": lambda a, b: stats.logistic(a, b), "lognormal": lambda a, b: stats.lognorm(s=b, scale=np.exp(a)),
    "gamma": lambda a, b: stats.gamma(a, scale=1 / np.float64(b)), "inv_gamma": lambda a, b: stats.invgamma(a, scale=b),
    "beta": lambda a, b: stats.beta(a, b), "weibull": lambda a, b: stats.weibull_min(a, scale=b),
    "uniform": lambda a, b: stats.uniform(a, b - a),
}


def exact(f, *grids):
    """A function of mpmath numbers over a grid, as doubles."""
    shape = np.broadcast_shapes(*(np.shape(g) for g in grids))
    flat = [np.broadcast_to(g, shape).ravel() for g in grids]
    return np.array([float(f(*map(mpmath.mpf, map(float, xs)))) for xs in zip(*flat)]).reshape(shape)


def log_choose(n, k):
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def ordered(y, m, cut):
    """Probabilities as differences of the logistic function, in many digits."""
    ends = [-mpmath.inf, *map(mpmath.mpf, cut), mpmath.inf]
    f = lambda z: mpmath.mpf(0) if z == -mpmath.inf else mpmath.mpf(1) if z == mpmath.inf else 1 / (1 + mpmath.exp(-z))
    m = np.broadcast_to(m, np.shape(y))
    return [float(mpmath.log(f(ends[int(k) + 1] - mpmath.mpf(float(e))) - f(ends[int(k)] - mpmath.mpf(float(e)))))
            for k, e in zip(np.ravel(y), np.ravel(m))]


def neg_binomial(y, m, phi):
    return exact(lambda y, m, f: mpmath.loggamma(y + f) - mpmath.loggamma(f) - mpmath.loggamma(y + 1) + f * mpmath.log(f)
                 + y * m - (y + f) * mpmath.log(f + mpmath.exp(m)), y, m, phi)


def densities(kind):
    y, w = noise(1, [17], kind), noise(2, [17], kind) + 2
    one = np.float32 if kind == "float" else np.float64
    y, w = y.astype(one), w.astype(one)
    q, r = (y + one(2)) / one(4), y + one(2)
    y, w, q, r = (np.asarray(x, np.float64) for x in (y, w, q, r))
    edge = np.array([-inf, -1, 0, 1, inf, nan, 1e10])
    data = {"lognormal": r, "gamma": r, "inv_gamma": r, "weibull": r, "beta": q}
    for f in ("normal", "cauchy", "laplace", "logistic", "lognormal", "gamma", "inv_gamma", "beta", "weibull"):
        a, b = (1.5, 0.5) if f == "weibull" else (0.5, 1.5)
        x, dist = data.get(f, y), TWO[f]
        sums(f, kind, [dist(a, b).logpdf(x), dist(a + w, b + w).logpdf(x), dist(a, b).logpdf(x[3:4]), []])
        value = dist(a, b).logpdf(edge)
        if f == "inv_gamma":
            value[4] = -inf
        t.summed(f"{f} edges", value, kind, np.abs(value[np.isfinite(value)]).max(initial=10))
        t.exact(f"{f} bad", [nan, nan, nan], kind)
    sums("uniform", kind, [stats.uniform(-2, 4).logpdf(y), -np.log(2 * w), stats.uniform(0, 3).logpdf(y), y * nan])
    sums("exponential", kind, [stats.expon(scale=1 / 1.5).logpdf(r), stats.expon(scale=1 / w).logpdf(r), [-inf], [nan]])
    far = np.log(2 * 3**1.5 / (np.pi * np.sqrt(3))) - 4 * np.log(1e10)
    sums("student_t", kind, [stats.t(2.5, 0.5, 1.5).logpdf(y), stats.t(w, w, 1.5).logpdf(y), stats.t(100 * w, 0, w).logpdf(y),
                             stats.norm.logpdf(y), [nan], [stats.t(3).logpdf(1e10)]])
    m = np.array([[(w[i + j] + 0.125) / (w[i] + w[i + 1] + w[i + 2] + 0.375) for j in range(3)] for i in range(5)])
    a = np.array([[1 + w[i + j] for j in range(3)] for i in range(5)])
    dirichlet = lambda x, a: gammaln(a.sum()) + ((a - 1) * np.log(x) - gammaln(a)).sum()
    first = np.array([0.5, 1.5, 30.0])
    sums("dirichlet", kind, [[20 * dirichlet(x, first) for x in m] / np.float64(20), [dirichlet(x, b) for x, b in zip(m, a)],
                             [dirichlet(m[2], a[1])], [0], [-inf], [-inf], [nan], []])
    low = np.array([[1 + w[i] if i == j else y[3 * i + j] for j in range(3)] for i in range(3)])
    low = np.tril(low)
    x = noise(3, [2, 5, 3], kind).reshape(10, 3)
    log_normal = lambda x, mu: stats.multivariate_normal(np.zeros(3), low @ low.T).logpdf(x - mu)
    sums("multi_normal", kind, [log_normal(x, [1, 2, 0]), log_normal(x, x * x), [log_normal(x[6], x[0])], [nan]])
    k, c, o = whole(4, [17], 9) - 1, whole(5, [17], 3), whole(6, [17], 2)
    n = np.maximum(k, 0)
    cut = [-1.0, 0.5]
    bern = lambda o, m: -np.logaddexp(0, np.where(o == 1, -m, m))
    sums("bernoulli_logit", kind, [bern(o, y), bern(o, 3.0), [-inf], [-200], [nan], [0]])
    binom = lambda y, n, m: log_choose(n, y) - y * np.logaddexp(0, -m) - (n - y) * np.logaddexp(0, m)
    values = [binom(n, 9, y).sum(), binom(n, n + c, 0.5).sum(), -inf, nan, stats.binom.logpmf(500000, 1000000, 0.5)]
    # A million trials: two numbers of about 7e5 cancel.
    t.summed("binomial_logit", values, kind, 7e5)
    pois = lambda y, m: y * m - np.exp(m) - gammaln(y + 1.0)
    t.summed("poisson_log", [pois(n, y).sum(), pois(n, 1.5).sum(), -inf, 0, -inf, pois(30, 80.0)], kind, 200)
    nb = [neg_binomial(n, y, 1.5), neg_binomial(n, 0.5, 10 * w), np.where(k < 0, -inf, 0), [nan], neg_binomial(n, y, 65536)]
    sums("neg_binomial_2_log", kind, nb)
    soft = lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True))
    sums("categorical_logit", kind, [soft(y[0] * np.array([1, 2, 3]))[c], soft(8 * m)[np.arange(5), c[:5]], [-inf], [0], [-inf]])
    sums("ordered_logistic", kind, [ordered(c, y, cut), ordered(c, 0.5, cut), [-inf], [nan], ordered([1], 90, cut), [0, 0]])


def quantile_slack(dist, x, p):
    """How much the quantile x moves, in roundings, if the lesser one of p and 1-p moves by 64."""
    slope = np.abs(x) * dist.pdf(x)
    return np.where(slope > 0, 64 * np.minimum(p, 1 - p) / slope, 0)


def functions(kind):
    eps = 2.0**-23 if kind == "float" else 2.0**-52
    x = np.array([-inf, -35, -6, -1, 0.5, 1, 2.5, 9, inf, nan])
    s = np.array([-1, 0, 2.0**-10, 0.25, 0.5, 0.75, 1 - 2.0**-10, 1, 2, inf])
    e = 2.0**-20
    p = np.array([-1, 0, e, 0.125, 0.375, 0.5, 0.75, 0.875, 1 - e, 1, 2, nan])

    def cdf(name, value):
        # 32 roundings, and two more for every factor 1/e.
        small = -np.log(np.min(value[value > 0], initial=1))
        t.add(name, value, kind, rel=32 + 2 * small, absolute=1e-37 if kind == "float" else 1e-300)

    def ppf(name, value, slack=32, absolute=0):
        t.add(name, value, kind, rel=slack, absolute=absolute)

    for f in ("normal", "cauchy", "laplace", "logistic", "lognormal", "weibull", "uniform"):
        a, b = {"weibull": (1.5, 0.5), "uniform": (-1, 3)}.get(f, (0.5, 1.5))
        d = TWO[f](a, b)
        value = d.cdf(x)
        if f == "cauchy":
            value = np.where(np.isnan(x), nan, np.arctan2(1, (a - x) / b) / np.pi)
        cdf(f"{f}_cdf", value)
        ppf(f"{f}_quantile", d.ppf(p), absolute=8 * eps)
    cdf("exponential_cdf", stats.expon(scale=1 / 1.5).cdf(x))
    ppf("exponential_quantile", stats.expon(scale=1 / 1.5).ppf(p))
    shape = np.array([2.0**-6, 0.5, 1, 2.5, 30, 5000])[:, None]
    d = stats.gamma(shape, scale=1 / 1.5)
    lower = lambda a, x: mpmath.mpf(0) if x <= 0 else mpmath.mpf(1) if x == mpmath.inf else mpmath.gammainc(a, 0, 1.5 * x, regularized=True)
    cdf("gamma_cdf", exact(lower, shape, shape * s))
    value = d.ppf(p)
    ppf("gamma_quantile", value, np.nanmax(quantile_slack(d, value, p)[:, 2:9], initial=32))
    d = stats.beta(shape, 1.5)
    inside = lambda a, x: mpmath.betainc(a, 1.5, 0, min(max(x, 0), 1), regularized=True)
    cdf("beta_cdf", exact(inside, shape, s))
    value = d.ppf(p)
    value[value < 1e-300] = 0
    ppf("beta_quantile", value, np.nanmax(quantile_slack(d, value, p)[:, 2:9], initial=32))
    nu = np.array([0.25, 1, 2.5, 30, 5000, 1e6, inf])[:, None]
    d = stats.t(nu, 0.5, 1.5)
    cdf("student_t_cdf", d.cdf(x))
    d = stats.t(nu, 0, 1.5)
    ppf("student_t_quantile", d.ppf(p), 64, 8 * eps)
    t.exact("bad", [nan] * 5, kind)


densities("float")
densities("double")
functions("float")
functions("double")
p = np.array([1e-300, 1e-100, 1e-17, 1e-12])
t.elementwise("normal tail", stats.norm.ppf(p), "double", 32)
far = exact(lambda z: mpmath.ncdf(z), np.array([-38, -20, -8.5, 8.5]))
t.elementwise("normal far", far, "double", 2 * 730)
t.elementwise("student_t tail", stats.t(7).ppf(p), "double", 64)
t.elementwise("gamma tail", stats.gamma(7).ppf(p), "double", 64)
t.elementwise("beta tail", stats.beta(7, 3).ppf(p), "double", 64)



def root(f, p, start):
    """The x > 0 with f(x) = p, from two places near it, on logarithms."""
    g = lambda u: mpmath.log(f(mpmath.exp(u))) - mpmath.log(mpmath.mpf(p))
    return float(mpmath.exp(mpmath.findroot(g, (mpmath.log(start), mpmath.log(start) + 1e-6))))


# scipy loses these.
hard = [root(lambda x: mpmath.gammainc(10**6, 0, x, regularized=True), 1e-8, 994398),
        root(lambda x: mpmath.betainc(5, 100, 0, x, regularized=True), 1e-300, 3.6e-62),
        -root(lambda x: mpmath.betainc(0.25, 0.5, 0, 0.5 / (0.5 + x * x), regularized=True) / 2, 1e-100, 1e199)]
t.elementwise("hard", hard, "double", 128)
y = np.array([0.33334, 0.5001, 0.7, 0.5, 0.9999998, 1e-11, 1e-300, 0.1, 0.9])
a = np.array([1e10, 1e6, 100, 1e15, 1e8, 9, 9, 1e5, 2e5])
b = np.array([2e10, 1e6, 50, 1e15, 20, 1e12, 9, 2e5, 1e5])
lbeta = lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
huge = lambda y, a, b: (a - 1) * mpmath.log(y) + (b - 1) * mpmath.log1p(-y) - lbeta(a, b)
# A rounding of y moves these by less than 1e-8.
t.add("beta huge", exact(huge, y, a, b), "double", 64, 1e-8)
y, a, b = (np.float32(v[:3]) for v in (y, a, b))
t.add("beta huge float", exact(huge, y, a, b), "float", 64, 1e-2)
t.elementwise("vectors", stats.t([[1, 2], [3, 4]], 0, [[1, 2], [3, 4]]).cdf([[0.5, 1], [2, 3]]), "double", 32)
t.write()
