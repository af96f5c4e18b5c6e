"""References of sampling.sac: the same transformations of the same bits, written again with NumPy; distributions are tested in SaC."""

import math

import numpy as np
import scipy.special as sp
from scipy.stats import qmc

from cases import EPS, Table

np.seterr(all="ignore")
table = Table()
MASK = 0xFFFFFFFF


def philox(counter, key):
    c, (a, b) = list(counter), key
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(q >> 32) ^ c[1] ^ a, q & MASK, (p >> 32) ^ c[3] ^ b, p & MASK]
        a, b = (a + 0x9E3779B9) & MASK, (b + 0xBB67AE85) & MASK
    return c


def threefry(counter, key):
    subkeys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA]
    x, y = (counter[0] + subkeys[0]) & MASK, (counter[1] + subkeys[1]) & MASK
    turns = [(13, 15, 26, 6), (17, 29, 16, 24)]
    for r in range(5):
        for t in turns[r % 2]:
            x = (x + y) & MASK
            y = ((y << t) | (y >> (32 - t))) & MASK
            y ^= x
        x = (x + subkeys[(r + 1) % 3]) & MASK
        y = (y + subkeys[(r + 2) % 3] + r + 1) & MASK
    return [x, y]


# The published vectors hold for what is used below, too.
assert philox([0] * 4, (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([MASK] * 4, (MASK, MASK)) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
assert philox(PI, (0xA4093822, 0x299F31D0)) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
assert threefry([0, 0], (0, 0)) == [0x6B200159, 0x99BA4EFE]
assert threefry([MASK, MASK], (MASK, MASK)) == [0x1CB996FC, 0xBB002BE7]
assert threefry(PI[:2], tuple(PI[2:])) == [0xC4923A9C, 0x483DF7A0]
K = (0, 42)
K4 = (0x12345678, 0x9ABCDEF0)


def words(k, at, attempt=0, purpose=0):
    return philox([at, 0, attempt, purpose], k)


def pair(k, at, kind):
    if kind == "float":
        return words(k, at >> 2)[at & 3], 0
    w = words(k, at >> 1)
    return (w[0], w[1]) if at % 2 == 0 else (w[2], w[3])


def unit(a, b, kind):
    return (a >> 8) * 2.0**-24 if kind == "float" else ((a >> 5) * 2.0**26 + (b >> 6)) * 2.0**-53


def open_unit(a, b, kind):
    return ((a >> 9) + 0.5) * 2.0**-23 if kind == "float" else ((a >> 6) * 2.0**26 + (b >> 6) + 0.5) * 2.0**-52


def fine_unit(a, b, kind):
    if kind == "float":
        return float(np.float32((a >> 8) * 256.0 + ((a & 255) + 0.5))) * 2.0**-32
    return ((a >> 5) * 2.0**26 + ((b >> 6) + 0.5)) * 2.0**-53


def deviate(a, b, c, e, turn, kind):
    return math.sqrt(-2 * math.log(fine_unit(a, b, kind))) * math.cos(2 * math.pi * (unit(c, e, kind) - turn))


def one_normal(k, at, kind):
    turn = 0.25 if at & 1 else 0
    if kind == "float":
        w = words(k, at >> 2)
        u, v = (w[0], w[1]) if at & 2 == 0 else (w[2], w[3])
        return deviate(u, 0, v, 0, turn, kind)
    return deviate(*words(k, at >> 1), turn, kind)


def later_normal(k, at, attempt, purpose, kind):
    return deviate(*words(k, at, attempt, purpose), 0, kind)


def drawn(name, f, shape, kind, k=K, rel=16, absolute=0.0, result=None):
    """f gives the number at a row-major place."""
    n = int(np.prod(shape))
    value = np.array([f(k, at) for at in range(n)]).reshape(shape)
    if result:
        table.exact(name, value, result)
    else:
        scale = float(np.max(np.abs(value), initial=1))
        table.add(name, value, kind, rel=rel, absolute=absolute * EPS[kind] * scale)


def both(name, f, shape=(17,), **more):
    """f of key, place and type, in double and float."""
    for kind in ("double", "float"):
        drawn(name, lambda k, at: f(k, at, kind), shape, kind, **more)


def uniform(lo, hi, kind):
    return lambda k, at: lo + (hi - lo) * unit(*pair(k, at, kind), kind)


def randint(lo, hi):
    def f(k, at):
        a, b = pair(k, at, "double")
        return lo + ((((a << 32) | b) * (hi - lo)) >> 64)

    return f


for name, counter, key in (("zeros", [0] * 4, (0, 0)), ("ones", [MASK] * 4, (MASK, MASK)), ("pi", PI, (0xA4093822, 0x299F31D0))):
    table.exact(f"philox {name}", philox(counter, key), "uint")
for name, counter, key in (("zeros", [0, 0], (0, 0)), ("ones", [MASK] * 2, (MASK, MASK)), ("pi", PI[:2], tuple(PI[2:]))):
    table.exact(f"threefry {name}", threefry(counter, key), "uint")
# What jax.random.split(jax.random.key(42)) gives.
halves = threefry([0, 0], K) + threefry([0, 1], K)
assert halves == [1832780943, 270669613, 64467757, 2916123636]
table.exact("split", halves, "uint")
table.exact("fold_in", threefry([0, 7], K), "uint")
table.exact("key", list(K4), "uint")

drawn("uniform", uniform(-1, 3, "double"), (2, 3), "double", rel=2, absolute=2)
drawn("uniform", uniform(-1, 3, "float"), (17,), "float", rel=2, absolute=2)
drawn("uniform scalar", uniform(0, 1, "double"), (), "double", k=K4, rel=1)
drawn("uniform empty", uniform(0, 1, "float"), (0, 3), "float")
drawn("uniform cube", uniform(0, 1, "float"), (3, 1, 5), "float", k=K4, rel=1)
drawn("randint", randint(-5, 20), (17,), "int", result="int")
drawn("randint", randint(-2147483647, 2147483647), (15,), "int", result="int")
drawn("randint", randint(-5000000000, 5000000000), (2, 3), "long", result="long")
drawn("randint", randint(5, 4294967295), (2, 3), "uint", result="uint")
big = [randint(3, 18446744073709551615)(K, at) for at in range(17)]
table.exact("randint", np.array(big, dtype=np.uint64), "ulong")
drawn("randint scalar", randint(0, 100), (), "int", result="int")
for kind in ("double", "float"):
    drawn("bernoulli", lambda k, at: unit(*pair(k, at, kind), kind) < (0.3 if kind == "double" else float(np.float32(0.3))), (33,), kind, result="bool")


def normal(mean, sd, kind):
    return lambda k, at: mean + sd * one_normal(k, at, kind)


drawn("normal", normal(1, 2, "double"), (17,), "double", absolute=16)
drawn("normal", normal(1, 2, "float"), (16,), "float", absolute=16)
drawn("normal scalar", normal(0, 1, "double"), (), "double", absolute=16)
drawn("normal cube", normal(0, 1, "float"), (2, 2, 2, 2), "float", absolute=16)
for length in range(1, 6):
    drawn("uniform length", uniform(0, 1, "double"), (length,), "double", rel=1)
    drawn("uniform length", uniform(0, 1, "float"), (length,), "float", rel=1)
    drawn("normal length", normal(0, 1, "double"), (length,), "double", absolute=16)
    drawn("normal length", normal(0, 1, "float"), (length,), "float", absolute=16)
    drawn("randint length", randint(0, 1000), (length,), "int", result="int")
drawn("uniform rows", uniform(0, 1, "float"), (3, 6), "float", rel=1)
both("lognormal", lambda k, at, kind: math.exp(0.5 * one_normal(k, at, kind)), rel=64)


def laplace(k, at, kind):
    u = open_unit(*pair(k, at, kind), kind) - 0.5
    return 1 + 2 * math.copysign(math.log1p(-2 * abs(u)), u)


def logistic(k, at, kind):
    u = open_unit(*pair(k, at, kind), kind)
    return 1 + 2 * math.log(u / (1 - u))


both("laplace", laplace, absolute=16)
both("logistic", logistic, absolute=16)
# The tangent's slope grows with its square.
both("cauchy", lambda k, at, kind: 1 + 2 * math.tan(math.pi * (open_unit(*pair(k, at, kind), kind) - 0.5)), rel=64, absolute=256)
both("gumbel", lambda k, at, kind: 1 - 2 * math.log(-math.log(open_unit(*pair(k, at, kind), kind))), absolute=16)
both("exponential", lambda k, at, kind: -3 * math.log(fine_unit(*pair(k, at, kind), kind)), absolute=2)
both("weibull", lambda k, at, kind: 2 * (-math.log(fine_unit(*pair(k, at, kind), kind))) ** (1 / 1.5), rel=32, absolute=2)


def truncated(lo, hi, kind):
    def f(k, at):
        if lo > 0.5 or hi < -0.5:
            low = lo if lo > 0.5 else -hi
            rate = 0.5 * (low + math.sqrt(low * low + 4))
            part = -math.expm1(-rate * (hi - lo))
            attempt = 0
            while True:
                a, b, c, e = words(k, at, attempt)
                x = -math.log1p(-part * unit(a, b, kind)) / rate
                if math.log(fine_unit(c, e, kind)) <= -0.5 * (low + x - rate) ** 2:
                    return lo + x if lo > 0.5 else hi - x
                attempt += 1
        a, b, c, e = words(k, at)
        root = math.sqrt(2)
        start = math.erf(lo / root)
        return root * float(sp.erfinv(start + (math.erf(hi / root) - start) * open_unit(a, b, kind)))

    return f


drawn("truncated_normal middle", truncated(-1, 2, "double"), (17,), "double", rel=64, absolute=64)
drawn("truncated_normal middle", truncated(-1, 2, "float"), (17,), "float", rel=64, absolute=64)
drawn("truncated_normal tail", truncated(10, math.inf, "double"), (17,), "double", rel=64)
drawn("truncated_normal tail", truncated(-3, -2, "float"), (17,), "float", rel=64)


def gamma_parts(k, at, purpose, shape, kind):
    d = (shape + 1 if shape < 1 else shape) - 1 / 3
    attempt = 0
    while True:
        x = later_normal(k, at, attempt, purpose + 1, kind)
        p, q, _, _ = words(k, at, attempt, purpose)
        cube = 1 + x / math.sqrt(9 * d)
        if cube > 0 and math.log(fine_unit(p, q, kind)) < 0.5 * x * x + d * (1 - cube**3 + math.log(cube**3)):
            break
        attempt += 1
    p, q, _, _ = words(k, at, 0, purpose + 2)
    return d * cube**3, math.log(fine_unit(p, q, kind)) / shape if shape < 1 else 0.0


def gamma(k, at, shape, kind="double", purpose=0):
    v, extra = gamma_parts(k, at, purpose, shape, kind)
    return v * math.exp(extra)


def beta(k, at, kind):
    (v, u), (w, t) = gamma_parts(k, at, 0, 2, kind), gamma_parts(k, at, 3, 0.5, kind)
    return 1 / (1 + math.exp(math.log(w) + t - math.log(v) - u))


both("gamma", lambda k, at, kind: 2 * gamma(k, at, 2.5, kind), rel=64)
drawn("gamma small", lambda k, at: gamma(k, at, 0.3), (17,), "double", rel=256)
drawn("gamma scalar", lambda k, at: 2 * gamma(k, at, 2.5), (), "double", rel=64)
table.exact("gamma edges", [0, 0, math.nan, math.nan], "double")
both("beta", beta, rel=256)
drawn("chi2", lambda k, at: 2 * gamma(k, at, 2.5), (17,), "double", rel=64)
both("student_t", lambda k, at, kind: later_normal(k, at, 0, 4, kind) / math.sqrt(2 / 5 * gamma(k, at, 2.5, kind)), rel=64, absolute=16)


def dirichlet(name, shape, alpha, kind):
    g = [gamma(K, at, alpha[at % len(alpha)], kind) for at in range(int(np.prod(shape)) * len(alpha))]
    g = np.array(g).reshape(*shape, len(alpha))
    table.add(name, g / g.sum(axis=-1, keepdims=True), kind, rel=256)


dirichlet("dirichlet", (2, 2), [0.5, 1, 3], "double")
dirichlet("dirichlet", (), [0.5, 1], "float")


def vectors(name, shape, mean, l, kind):
    l, n = np.tril(l), len(mean)
    z = np.array([one_normal(K, at, kind) for at in range(int(np.prod(shape)) * n)]).reshape(*shape, n)
    scale = float(np.max(np.abs(z) @ np.abs(l).T + np.abs(mean), initial=1))
    table.add(name, mean + z @ l.T, kind, rel=4, absolute=16 * EPS[kind] * scale)


cov = np.array([[4, 2, 0.5], [2, 5, 1], [0.5, 1, 3]])
vectors("multivariate_normal", (17,), [1, 2, 3], np.linalg.cholesky(cov), "double")
vectors("multivariate_normal", (2, 3), [1, -2], np.linalg.cholesky([[0.25, 0.1], [0.1, 9]]), "float")
vectors("multivariate_normal one", (), [1, 2, 3], np.linalg.cholesky(cov), "double")
# The smaller of two numbers from 1 has a factor of ones: sums of the numbers so far.
vectors("multivariate_normal large", (2,), [0] * 70, np.ones((70, 70)), "double")
vectors("multivariate_normal none", (0,), [1, 2], np.eye(2), "double")
vectors("multivariate_normal of nothing", (2,), [], np.zeros((0, 0)), "double")
for kind in ("double", "float"):
    vectors("multivariate_normal_cholesky", (17,), [1, 2], [[2, 9], [-1, 3]], kind)


def poisson(k, at, mean, purpose=0):
    if mean < 10:
        u = unit(*words(k, at, 0, purpose)[:2], "double")
        p, n = math.exp(-mean), 0
        while u >= p and n < 1000:
            u -= p
            n += 1
            p = p * mean / n
        return n
    w = 0.931 + 2.53 * math.sqrt(mean)
    f = -0.059 + 0.02483 * w
    attempt = 0
    while True:
        a, b, c, e = words(k, at, attempt, purpose)
        u, v = open_unit(a, b, "double") - 0.5, open_unit(c, e, "double")
        us = 0.5 - abs(u)
        n = math.floor((2 * f / us + w) * u + mean + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (w - 2):
            return n
        if n >= 0 and (us >= 0.013 or v <= us):
            if math.log(v * (1.1239 + 1.1328 / (w - 3.4)) / (f / us**2 + w)) <= n * math.log(mean) - mean - math.lgamma(n + 1):
                return n
        attempt += 1


def binomial(k, at, n, p0):
    p = 1 - p0 if p0 > 0.5 else p0
    if n * p < 10:
        u = unit(*words(k, at)[:2], "double")
        q, m = math.exp(n * math.log1p(-p)), 0
        while u >= q and m < n:
            u -= q
            m += 1
            q = q * (p / (1 - p)) * (n - m + 1) / m
    else:
        spread = math.sqrt(n * p * (1 - p))
        w = 1.15 + 2.53 * spread
        f = -0.0873 + 0.0248 * w + 0.01 * p
        mode = math.floor((n + 1) * p)
        attempt = 0
        while True:
            a, b, c, e = words(k, at, attempt)
            u, v = open_unit(a, b, "double") - 0.5, open_unit(c, e, "double")
            us = 0.5 - abs(u)
            m = math.floor((2 * f / us + w) * u + n * p + 0.5)
            if us >= 0.07 and v <= 0.92 - 4.2 / w:
                break
            if 0 <= m <= n:
                peak = math.lgamma(mode + 1) + math.lgamma(n - mode + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
                if math.log(v * (2.83 + 5.1 / w) * spread / (f / us**2 + w)) <= peak + (m - mode) * math.log(p / (1 - p)):
                    break
            attempt += 1
    return n - m if p0 > 0.5 else m


drawn("poisson", lambda k, at: poisson(k, at, 3.5), (17,), "int", result="int")
drawn("poisson", lambda k, at: poisson(k, at, 40.0), (17,), "int", result="int")
table.exact("poisson", [0, 0], "int")
drawn("binomial", lambda k, at: binomial(k, at, 10, 0.3), (17,), "int", result="int")
drawn("binomial", lambda k, at: binomial(k, at, 200, float(np.float32(0.7))), (17,), "int", result="int")
table.exact("binomial", [0, 0, 0], "int")
drawn("neg_binomial", lambda k, at: poisson(k, at, gamma(k, at, 3) * 0.6 / 0.4, purpose=5), (17,), "int", result="int")


def gumbel(at, kind):
    return -math.log(-math.log(open_unit(*pair(K, at, kind), kind)))


table.exact("categorical", [max(range(4), key=lambda j: j * 0.5 + gumbel(i * 4 + j, "double")) for i in range(17)], "int")
table.exact("categorical", max(range(3), key=lambda j: j + gumbel(j, "float")), "int")


def permutation(n):
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        a, b, _, _ = words(K, i)
        j = (((a << 32) | b) * (i + 1)) >> 64
        order[i], order[j] = order[j], order[i]
    return order


table.exact("permutation", permutation(17), "int")
table.exact("permutation", [0], "int")
table.exact("permutation", [], "int")
table.exact("shuffle", np.arange(10).reshape(5, 2)[permutation(5)], "int")
table.exact("shuffle", np.array([1, 0, 0])[permutation(3)], "bool")


def choice(k, weight, kind):
    score = [math.log(w) + gumbel(i, kind) if w > 0 else -math.inf for i, w in enumerate(weight)]
    return sorted(range(len(weight)), key=lambda i: -score[i])[:k]


table.exact("choice", choice(5, range(16), "double"), "int")
table.exact("choice", choice(3, [1, 2, 0], "float"), "int")
table.exact("choice", [], "int")


def sobol(name, n, d, lo=0, hi=1, kind="double"):
    # A power of two of points, since SciPy warns of others.
    points = qmc.Sobol(d, scramble=False).random_base2(max(n - 1, 0).bit_length())[:n] if d else np.zeros((n, 0))
    table.exact(name, lo + (hi - lo) * points, kind)


sobol("sobol", 17, 5)
sobol("sobol", 9, 4, kind="float")
sobol("sobol of all dimensions", 33, 101)
points = qmc.Sobol(101, scramble=False).random_base2(13)[:5000]
table.exact("sobol sums", np.sum(points, 0), "double")
table.exact("sobol last", qmc.Sobol(2, scramble=False).random_base2(17)[69990:70001], "double")
sobol("sobol between", 8, 3, -1, 3)
sobol("sobol between", 8, 3, -1, 3, "float")
sobol("sobol one", 1, 1)
sobol("sobol none", 0, 3)
sobol("sobol of nothing", 3, 0, kind="float")
table.exact("same", True, "bool")
table.exact("same", True, "bool")

TESTS = """uniform moments, uniform spread, uniform moments, uniform spread, normal moments, normal spread, normal moments,
normal spread, normal pairs, lognormal spread, laplace moments, laplace spread, logistic moments, logistic spread, cauchy spread,
gumbel moments, gumbel spread, exponential moments, exponential spread, weibull spread, truncated_normal spread,
truncated_normal spread, gamma moments, gamma spread, gamma spread, gamma spread, beta moments, beta spread, chi2 spread,
student_t spread, dirichlet spread, multivariate_normal spread, multivariate_normal spread, multivariate_normal apart,
poisson moments, poisson shares, poisson moments, poisson shares, binomial shares,
binomial moments, binomial shares, neg_binomial moments, neg_binomial shares, randint shares, bernoulli shares,
categorical shares, permutation shares, choice shares, permutation whole"""
for name in TESTS.replace("\n", " ").split(", "):
    table.exact(name.strip(), True, "bool")
table.write()
