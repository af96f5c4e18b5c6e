"""References for stats-models.sac: statsmodels, scikit-learn and torch in double precision, on inputs rounded to the type."""

import numpy as np
import statsmodels.api as sm
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.gaussian_process import kernels
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from cases import DTYPE, EPS, Table, noise, whole

t = Table()
Table.factor = lambda self, name, value, kind, n, size, cond=1: self.add(name, value, kind, rel=4, absolute=10 * n * EPS[kind] * size * cond)


def rounded(x, kind):
    return np.asarray(x).astype(DTYPE[kind]).astype(float)


def kernel(form, x, z, length):
    return {
        "exp_quad": kernels.RBF(length), "matern32": kernels.Matern(length, nu=1.5),
        "matern52": kernels.Matern(length, nu=2.5), "periodic": kernels.ExpSineSquared(length, 2.5),
    }[form](x, z)


for kind in ("float", "double"):
    eps = EPS[kind]
    x, y, wide, few = noise(1, [33, 3], kind), noise(2, [33], kind), noise(3, [5, 9], kind), noise(4, [5], kind)
    cond = np.linalg.cond(x - x.mean(0))
    fit = sm.OLS(y, sm.add_constant(x)).fit()
    t.factor("intercept", fit.params[0], kind, 3, 1, cond)
    t.factor("coefficients", fit.params[1:], kind, 3, 1, cond)
    t.factor("error of intercept", fit.bse[0], kind, 3, 1, cond)
    t.factor("errors of coefficients", fit.bse[1:], kind, 3, 1, cond)
    # Rounded to the type, sums with 100 lose digits of x that the reference loses, too.
    t.factor("far", LinearRegression().fit(rounded(x + 100, kind), y).coef_, kind, 3, 100, cond)
    t.summed("no columns", noise(2, [7], kind).mean(), kind, 2)
    fit = Ridge(2.5).fit(x, y)
    t.factor("ridge intercept", fit.intercept_, kind, 3, 1, cond)
    t.factor("ridge", fit.coef_, kind, 3, 1, cond)
    fit = Ridge(0.5, solver="svd").fit(wide, few)
    t.factor("ridge wide intercept", fit.intercept_, kind, 5, 4, cond)
    t.factor("ridge wide", fit.coef_, kind, 5, 4, cond)
    for name, a, k in (("", x, 2), (" wide", wide, 4), (" tall", noise(14, [20, 4], kind), 3)):
        s = np.linalg.svd(a - a.mean(0), compute_uv=False)
        gap = s[0] / min(abs(np.diff(s[: k + 1])))
        fit = PCA(k, svd_solver="full").fit(a)
        c = fit.components_
        c = c * np.where(np.take_along_axis(c, abs(c).argmax(1)[:, None], 1) < 0, -1, 1)
        t.factor("directions" + name, c, kind, len(a), 0.25, gap)
        t.factor("scores" + name, (a - a.mean(0)) @ c.T, kind, len(a), 1, gap)
        t.factor("variances" + name, fit.explained_variance_, kind, len(a), s[0] ** 2 / len(a))
    fit = LinearRegression().fit(noise(15, [1100, 2], kind), noise(16, [1100], kind))
    t.factor("many", fit.coef_, kind, 2, 1)
    t.exact("no directions", np.zeros((0, 3)), kind)

    p = rounded(whole(5, [40, 2], 3) * 20 + noise(6, [40, 2], kind), kind)
    fit = KMeans(9, n_init=20, random_state=1).fit(p)
    t.add("centres", fit.cluster_centers_[fit.labels_], kind, absolute=16 * eps * 42)
    t.add("inertia", fit.inertia_, kind, absolute=64 * eps * 42 * 42)
    t.add("one centre", p.mean(0)[None], kind, absolute=16 * eps * 42)
    t.add("one inertia", ((p - p.mean(0)) ** 2).sum(), kind, rel=64)
    t.exact("as many", p[:4], kind)
    t.exact("equal", np.zeros((3, 2)), kind)

    m = rounded(noise(11, [60, 2], kind) + 6 * whole(12, [60], 3)[:, None], kind)
    fit = GaussianMixture(3, tol=1e-14, max_iter=1000, n_init=5, random_state=1).fit(m)
    w, c, s = fit.weights_, fit.means_, fit.covariances_
    t.add("weights", (w * w).sum(), kind, absolute=1e4 * eps)
    t.add("mixed means", fit.predict_proba(m) @ c, kind, absolute=1e5 * eps)
    t.add("mixed covariances", np.tensordot(w, s, 1), kind, absolute=1e5 * eps)
    t.add("mixed density", fit.score_samples(rounded(noise(13, [5, 2], kind) * 3, kind)), kind, rel=1e4, absolute=1e5 * eps)

    def neighbours(table, query, k):
        """Places by scikit-learn; distances, which it takes from products, by differences."""
        at = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(table).kneighbors(query)[1]
        return np.linalg.norm(query[:, None] - table[at], axis=2), at

    dist, at = neighbours(x, noise(8, [17, 3], kind), 4)
    t.exact("nearest", at, "int")
    t.add("distances", dist, kind, rel=16)
    dist, at = neighbours(noise(9, [300, 20], kind), noise(8, [257, 20], kind), 3)
    assert (np.diff(dist) > 1e-5).all(), "places are undecided"
    t.exact("nearest of 20", at[:, :1], "int")
    t.add("distances of 20", dist[:3], kind, rel=16)
    t.add("last distances of 20", dist[255:], kind, rel=16)
    t.exact("of itself", np.arange(33)[:, None], "int")
    t.exact("none", np.zeros((0, 2)), "int")

    z = noise(10, [6, 3], kind)
    for form in ("exp_quad", "matern32", "matern52", "periodic"):
        t.add(form, 2.25 * kernel(form, x[:5], z, 0.75), kind, rel=256)
    t.add("exp_quad 1", 2.25 * kernel("exp_quad", few[:, None], y[:, None], 0.75), kind, rel=256)
    k = kernel("exp_quad", x, x, 0.5) + 0.25 * np.eye(33)
    cross = kernel("exp_quad", x, z, 0.5)
    size = 33 * np.linalg.cond(k)
    t.add("mean", cross.T @ np.linalg.solve(k, y), kind, absolute=10 * eps * size)
    t.add("variance", 1 - np.einsum("ij,ij->j", cross, np.linalg.solve(k, cross)), kind, absolute=10 * eps * size)
    t.add("mean alone", cross.T @ np.linalg.solve(k, y), kind, absolute=10 * eps * size)
    kt, yt = torch.tensor(k, requires_grad=True), torch.tensor(y, requires_grad=True)
    lml = torch.distributions.MultivariateNormal(torch.zeros(33, dtype=torch.float64), kt).log_prob(yt)
    dk, dy = torch.autograd.grad(2 * lml, (kt, yt))
    t.add("lml", lml.detach(), kind, absolute=10 * eps * size)
    t.add("lml_back k", (dk + dk.T)[:5] / 2, kind, absolute=40 * eps * size)
    t.add("lml_back y", dy, kind, absolute=40 * eps * size)
    t.add("not definite", np.nan, kind)
t.add("difference", 0, "double", absolute=1e-7)
t.write()
