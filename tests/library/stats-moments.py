"""References for stats-moments.sac: numpy, scipy, statsmodels; the two diagnostics of chains from their formulas."""

import warnings

import numpy as np
from scipy import stats
from statsmodels.tsa.stattools import acf

from cases import EPS, Table, noise, whole

warnings.filterwarnings("ignore")
t = Table()
nan = np.nan


def split(x):
    half = x.shape[1] // 2
    return np.concatenate([np.stack([row[:half], row[row.size - half:]]) for row in x])


def ranked(x):
    return stats.norm.ppf((stats.rankdata(x) - 0.375) / (x.size + 0.25)).reshape(x.shape)


def between(x):
    return x.mean(1).var(ddof=1)


def ess(x):
    if np.isnan(x).any() or x.shape[1] < 4:
        return nan
    if x.min() == x.max():
        return x.size
    z = ranked(split(x))
    n = z.shape[1]
    d = z - z.mean(1, keepdims=True)
    cov = np.array([np.mean([row[: n - k] @ row[k:] for row in d]) / n for k in range(n)])
    within = cov[0] * n / (n - 1)
    rho = 1 - (within - cov) / (cov[0] + between(z))
    rho[0] = 1
    # Pairs up to the first that is not positive, or to the end; of the last one only its even half, once.
    pairs = [rho[0] + rho[1]]
    t = 1
    while t < n - 3 and pairs[-1] > 0:
        pairs.append(rho[t + 1] + rho[t + 2])
        t += 2
    even = rho[t - 1]
    tau = -1 + 2 * np.minimum.accumulate(pairs)[:-1].sum() + (even if pairs[-1] >= 0 else max(even, 0))
    return z.size / max(tau, 1 / np.log10(z.size))


def rhat(x):
    if np.isnan(x).any() or x.shape[1] < 4 or x.min() == x.max():
        return nan
    h = split(x)
    n = h.shape[1]
    ratio = lambda z: np.sqrt((n * between(z) / z.var(1, ddof=1).mean() + n - 1) / n)
    return max(ratio(ranked(h)), ratio(ranked(np.abs(h - np.median(h)))))


def covariance(x, ddof):
    n = len(x)
    c = x - x.mean(0)
    return c.T @ c / (n - ddof) if n > ddof else np.full((3, 3), nan)


def columns(x, kind):
    n = len(x)
    big = np.abs(x).max(initial=0)
    eps = EPS[kind]
    # Deviations are off by roundings of the mean, which standardised moments see relative to their own size.
    t.add(f"cov {n}", covariance(x, 1), kind, 32, 64 * eps * (1 + big))
    t.add(f"cov 0 {n}", covariance(x, 0), kind, 32, 64 * eps * (1 + big))
    corr = np.corrcoef(x, rowvar=False) if n > 1 else np.full((3, 3), nan)
    t.add(f"corr {n}", corr, kind, 32, 64 * eps * (1 + big))
    z = (x - x.mean(0)) / x.std(0)
    t.add(f"skewness {n}", stats.skew(x) if n > 1 else [nan] * 3, kind, 64, 64 * eps * (1 + big))
    t.add(f"kurtosis {n}", stats.kurtosis(x) if n > 1 else [nan] * 3, kind, 64, 64 * eps * (3 + big))
    t.add(f"zscore {n}", z if n > 1 else np.full((n, 3), nan), kind, 64, 64 * eps * (1 + big))
    w = noise(2, [n], kind) + 3
    t.add(f"weighted_mean {n}", np.average(x, axis=0, weights=w) if n else [nan] * 3, kind, 8, 8 * eps * (1 + big))


def chains(x, kind="double"):
    t.add(f"chains {x.shape[1]}", [ess(x), rhat(x)], kind, 20000)


def vectors(kind):
    x, y, z = noise(3, [2, 17, 3], kind), noise(4, [40], kind), noise(5, [40], kind)
    value = [np.cov(y, z)[0, 1], np.corrcoef(y, z)[0, 1], stats.skew(y), stats.kurtosis(y), np.average(y, weights=z + 3)]
    t.summed("vectors", value, kind, 8)
    t.summed("skewness 1", stats.skew(x, axis=1), kind, 8)
    # Of three numbers at times almost equal ones: their deviations are few.
    t.summed("kurtosis -1", stats.kurtosis(x, axis=-1), kind, 64)
    t.summed("zscore -2", stats.zscore(x, axis=-2), kind, 8)
    t.elementwise("ecdf", stats.ecdf(y).cdf.evaluate([[-np.inf, -1, 0], [1, np.inf, y[7]]]), kind)
    t.summed("autocorrelation", acf(y, nlags=39, fft=False), kind, 2)
    t.summed("autocorrelation 2", [acf(row, nlags=2, fft=False) for row in x[0]], kind, 2)
    t.exact("equal", [nan] * 6, kind)


vectors("float")
vectors("double")
columns(noise(1, [17, 3], "float"), "float")
for n in range(3):
    columns(noise(1, [n**4, 3]), "double")
columns(noise(1, [17, 3]) + 1e6, "double")
wide = noise(9, [21, 18])
t.summed("cov wide", np.cov(wide, rowvar=False), "double", 4)
t.summed("corr wide", np.corrcoef(wide, rowvar=False), "double", 4)
t.summed("cov wide float", np.cov(noise(9, [21, 18], "float"), rowvar=False), "float", 4)
chains(noise(6, [4, 100], "float"), "float")
chains(noise(6, [4, 100]))
chains(noise(6, [1, 37]))
chains(noise(6, [3, 3]))
e = noise(7, [2, 60])
for k in range(1, 60):
    e[:, k] = 0.9 * e[:, k - 1] + e[:, k]
chains(e)
chains(0.5 * e + np.array([[0.0], [5.0]]))
chains(whole(8, [4, 50], 3).astype(float))
chains(np.full((2, 10), 3.0))
chains(np.full((2, 10), nan))
t.write()
