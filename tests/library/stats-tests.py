"""References for stats-tests.sac: scipy.stats."""

import warnings

import numpy as np
from scipy import stats

from cases import EPS, Table, noise, whole

warnings.filterwarnings("ignore")
t = Table()
nan = np.nan
NONE = (nan, nan)


def add(name, kind, pair, rel=1e-11):
    # Statistics lose some roundings, and p as many times more as its logarithm is great.
    t.add(name, [float(pair[0]), float(pair[1])], kind, max(rel / 2.0**-52, 64 if kind == "double" else 128))


def means(kind, x, y):
    m, n = len(x), len(y)
    add(f"ttest {m}", kind, stats.ttest_1samp(x, 0.25) if m > 1 else NONE, 1e-12)
    add(f"ttest {m} {n}", kind, stats.ttest_ind(x, y) if min(m, n) > 0 else NONE, 1e-12)
    add(f"welch {m} {n}", kind, stats.ttest_ind(x, y, equal_var=False) if min(m, n) > 1 else NONE, 1e-12)
    level = float(np.float32(0.9)) if kind == "float" else 0.9
    add(f"mean interval {m}", kind, stats.ttest_1samp(x, 0).confidence_interval(level) if m > 1 else NONE, 1e-12)
    add(f"ks {m} {n}", kind, stats.ks_2samp(x, y) if n else NONE)
    add(f"mannwhitney {m} {n}", kind, stats.mannwhitneyu(x, y) if n else NONE)


def alone(kind, x, y):
    n = len(x)
    add(f"paired {n}", kind, stats.ttest_rel(x, y) if n > 1 else NONE, 1e-12)
    d = (np.float32(x) - np.float32(y)).astype(float) if kind == "float" else x - y
    add(f"wilcoxon {n}", kind, stats.wilcoxon(d) if n else NONE)
    add(f"ks {n}", kind, stats.ks_1samp(x, stats.norm(0.125, 1.25).cdf) if n else NONE, 1e-9 if kind == "double" else 1e-4)
    add(f"ks far {n}", kind, stats.ks_1samp(x, stats.norm(1, 1).cdf) if n else NONE, 1e-9 if kind == "double" else 1e-4)


def tables(o):
    m, n = o.shape
    r = (nan, nan) if (o.sum(1) == 0).any() else stats.chi2_contingency(o)[:2]
    add(f"table {m} {n}", "double", r)
    add("rows", "double", stats.chisquare(o[0]))


for kind in ("float", "double"):
    means(kind, noise(1, [12], kind), noise(2, [9], kind))
means("double", noise(1, [5]) + 3, noise(2, [40]))
means("double", noise(1, [3]), noise(2, [0]))
means("double", noise(1, [1]), noise(2, [2]))
means("double", whole(3, [30], 4).astype(float), whole(4, [25], 5).astype(float))
alone("float", noise(5, [20], "float"), noise(6, [20], "float"))
for n in (0, 10, 20, 60, 150):
    alone("double", noise(5, [n]), noise(6, [n]))
alone("double", whole(7, [11], 3).astype(float), whole(8, [11], 3).astype(float))
alone("double", whole(7, [20], 4).astype(float), whole(8, [20], 4).astype(float))
add("counts 4", "double", stats.chisquare([5, 9, 14, 8]))
e = [6.5, 9.5, 12, 8]
add("expected", "double", stats.chisquare([5, 9, 14, 8], e))
add("expected reals", "double", stats.chisquare([5.5, 8.5, 14, 8], e))
for o in ([[10, 20, 30], [6, 9, 17]], [[8, 2], [1, 5]], [[3, 4, 5]], [[0, 0], [1, 5]]):
    tables(np.array(o))
for name, k, level in (("share", 3, 0.95), ("share none", 0, 0.95), ("share all", 10, 0.9)):
    add(name, "double", stats.binomtest(k, 10).proportion_ci(level))
for name in ("ks", "wilcoxon", "mannwhitney"):
    add(f"not a number {name}", "double", NONE)
# The interval of all 4^4 samples; 2000 of them vary about it.
every = np.array(np.meshgrid(*[[1, 2, 4, 8]] * 4)).reshape(4, -1).mean(0)
t.add("bootstrap", np.quantile(every, [0.1, 0.9]), "double", 0, 0.3)
t.exact("rows drawn", [2, 4, 3], "int")
t.write()
