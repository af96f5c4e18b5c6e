"""References for stats-glm.sac: log likelihoods and gradients by torch in double precision, fits by statsmodels and sklearn."""

import warnings

import numpy as np
import statsmodels.api as sm
import torch
from sklearn.linear_model import LogisticRegression

from cases import DTYPE, EPS, Table, noise, whole

warnings.filterwarnings("ignore")
t = Table()
T = lambda x: torch.tensor(np.asarray(x), dtype=torch.float64)
lgamma = torch.special.gammaln
soft = torch.nn.functional.softplus


def normal(y, x, a, b, s):
    return torch.distributions.Normal(a + x @ b, s).log_prob(y).sum()


def bernoulli(y, x, a, b):
    return torch.distributions.Bernoulli(logits=a + x @ b).log_prob(y).sum()


def poisson(y, x, a, b):
    m = a + x @ b
    return (y * m - torch.exp(m) - lgamma(y + 1)).sum()


def neg_binomial(y, x, a, b, f):
    m = a + x @ b
    return (lgamma(y + f) - lgamma(f) - lgamma(y + 1) + f * torch.log(f) + y * m - (y + f) * torch.log(f + torch.exp(m))).sum()


def ordered(y, x, b, cut):
    # Classes through their cumulative probabilities.
    ends = torch.cat([T([-np.inf]), cut, T([np.inf])])
    m = x @ b
    low, high = ends[y.long()], ends[y.long() + 1]
    share = torch.sigmoid(high - m) - torch.sigmoid(low - m)
    return torch.log(share).sum()


def categorical(y, x, a, b):
    return torch.log_softmax(a + x @ b, 1).gather(1, y.long()[:, None]).sum()


def gradients(f, y, *args):
    args = [T(a).requires_grad_() for a in args]
    y = T(y).requires_grad_()
    value = f(y, *args)
    g = torch.autograd.grad(value, [y, *args], allow_unused=True)
    return value.item(), [np.zeros_like(a.detach()) if d is None else d.numpy() for a, d in zip([y, *args], g)]


def line(name, kind, parts, size):
    value = np.concatenate([np.ravel(p) for p in parts])
    t.summed(name, value, kind, size)


def both(tag, what, n, kind, f, y, *args, with_y=False, tail=0):
    """Value and gradients, those of y apart; then the gradients from the seed 2."""
    value, g = gradients(f, y, *args)
    # Sums of terms of both signs: the greatest sum of their sizes, times what the exponentials add.
    size = 40 * (1 + n) * (1 + max(np.abs(d).max(initial=0) for d in g) / 8)
    line(f"{tag} {what} {n}", kind, [[value, value], *g[1:], [0] * tail], size)
    if with_y:
        line(f"{tag} {what} y {n}", kind, [g[0]], size)
        t.lines[-1] = t.lines[-1]
    seeded = [2 * d for d in g]
    line(f"{tag} {what} back {n}", kind, (seeded if with_y else [*seeded[1:], [0] * (tail + 1)]), 2 * size)


def models(tag, n, kind, alpha, scale):
    x, beta, y = noise(1, [n, 3], kind), noise(2, [3], kind), noise(3, [n], kind)
    o, p = whole(4, [n], 2), whole(5, [n], 9)
    both(tag, "normal", n, kind, normal, y, x, alpha, beta, scale, with_y=True)
    both(tag, "bernoulli", n, kind, bernoulli, o, x, alpha, beta, tail=1)
    both(tag, "poisson", n, kind, poisson, p, x, alpha, beta, tail=1)
    both(tag, "neg_binomial", n, kind, neg_binomial, p, x, alpha, beta, scale)


def classes(n, kind):
    x, beta, c = noise(1, [n, 3], kind), noise(2, [3], kind), whole(6, [n], 4)
    both("", "ordered", n, kind, ordered, c, x, beta, [-1, 0.25, 2], tail=1)
    both("", "categorical", n, kind, categorical, c, x, noise(7, [4], kind), noise(8, [3, 4], kind), tail=1)


models("", 33, "float", 0.5, 1.5)
models("", 33, "double", 0.5, 1.5)
models("vectors", 17, "double", noise(9, [17]), noise(10, [17]) + 3)
for n in (0, 1):
    models("", n, "double", 0.5, 1.5)
classes(33, "float")
classes(33, "double")
for n in (0, 1):
    classes(n, "double")

x, beta, u, v = noise(1, [33, 3]), noise(2, [3]), noise(11, [33, 3]), np.array([1, -1, 2.0])
count, trial, label = whole(5, [33], 9), whole(4, [33], 2), whole(6, [33], 4)
for name, f, y, args, along in (
    ("normal", normal, noise(3, [33]), (x, 0.5, beta, 1.5), (np.ones(33), u, 1, v, -1)),
    ("bernoulli", bernoulli, trial, (x, 0.5, beta), (0, u, 1, v)),
    ("poisson", poisson, count, (x, 0.5, beta), (0, u, 1, v)),
    ("neg_binomial", neg_binomial, count, (x, 0.5, beta, 1.5), (0, u, 1, v, -1)),
    ("ordered", ordered, label, (x, beta, [-1, 0.25, 2]), (0, u, v, np.array([1, -1, 0]))),
    ("categorical", categorical, label, (x, noise(7, [4]), noise(8, [3, 4])), (0, u, -1, noise(8, [3, 4]))),
):
    value, g = gradients(f, y, *args)
    slope = sum((d * w).sum() for d, w in zip(g, along))
    t.add(f"slope {name}", slope, "double", absolute=1e-6 * (1 + abs(slope)))

half, far = np.log(0.5), 900 + np.log1p(np.exp(-900))
t.elementwise("beyond", [np.nan, np.nan, -np.inf, 0, -np.inf, 0, np.nan, -far - far + 0 * half, -np.inf, -np.inf, np.nan], "double", 8)


def fit(name, x, y, family, kind="double", intercept=True):
    r = sm.GLM(y, sm.add_constant(x) if intercept else x, family=family).fit(tol=1e-14, maxiter=100)
    lead = [] if intercept else [0]
    # The reference stops where the deviance is at rest, which leaves half of the digits.
    t.add(name, [*lead, *r.params, *lead, *np.diag(r.cov_params())], kind, absolute=1e-3 if kind == "float" else 1e-8)
    t.exact(name, np.array(1), "bool")


x, y = noise(1, [40, 3]), noise(3, [40])
o, p = whole(4, [40], 2), whole(5, [40], 9)
fit("fit normal", x, y, sm.families.Gaussian())
fit("fit normal through zero", x, y, sm.families.Gaussian(), intercept=False)
fit("fit bernoulli", x, o, sm.families.Binomial())
fit("fit bernoulli float", noise(1, [40, 3], "float"), o, sm.families.Binomial(), "float")
fit("fit poisson", x, p, sm.families.Poisson())
fit("fit poisson far", 30 + x, p, sm.families.Poisson())
fit("fit neg_binomial", x, p, sm.families.NegativeBinomial(alpha=1 / 2.5))


def newton(x, y, mean, weight):
    """The parameters at which the gradient is zero, in extended precision but for the step's direction."""
    x = np.column_stack([np.ones(len(y)), x]).astype(np.longdouble)
    q = np.zeros(x.shape[1], np.longdouble)
    q[0] = 0.5
    for _ in range(200):
        g = x.T @ (y - mean(x @ q)) if weight is None else x.T @ ((y - mean(x @ q)) * weight(mean(x @ q)))
        v = mean(x @ q + 1e-6) - mean(x @ q - 1e-6)
        h = (x.T * (v / 2e-6 if weight is None else v / 2e-6 * weight(mean(x @ q)))) @ x
        q = q + np.linalg.solve(h.astype(float), g.astype(float))
    return q.astype(float)


exact = {}
for kind in ("double", "float"):
    a = (np.add.outer(np.arange(12) * 7, np.arange(2) * 3) % 11 / DTYPE[kind](5)).astype(DTYPE[kind]).astype(np.longdouble)
    c = (np.arange(12) ** 2 % 7).astype(np.longdouble)
    share = (c.astype(DTYPE[kind]) / DTYPE[kind](7)).astype(np.longdouble)
    for name, y, mean, weight in (
        ("poisson", c, np.exp, None), ("neg_binomial", c, np.exp, lambda m: 0.5 / (0.5 + m)),
        ("bernoulli", share, lambda m: 1 / (1 + np.exp(-m)), None),
    ):
        exact[name, kind] = newton(a, y, mean, weight)
for name in ("poisson", "neg_binomial", "bernoulli"):
    for kind in ("double", "float"):
        t.add(f"last digits {name}", exact[name, kind], kind, rel=4, absolute=16 * EPS[kind])
        t.exact(f"last digits {name}", np.array(1), "bool")
for name in ("fit impossible", "fit dependent", "fit none"):
    t.exact(name, [np.nan] * 8, "double")
    t.exact(name, np.array(0), "bool")
r = LogisticRegression(C=0.5, tol=1e-14, solver="newton-cholesky", max_iter=1000).fit(x, o)
t.add("logistic_regression", [*r.intercept_, *r.coef_[0]], "double", absolute=1e-8)
t.exact("divided", np.array(0), "bool")
t.write()
