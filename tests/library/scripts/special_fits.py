"""Computes the polynomials behind stdlib/numerical/Special*.sac and writes stdlib/numerical/SpecialFits.sac.

Each is the interpolant of a smooth function at Chebyshev points, of the lowest degree that reaches the wanted error, relative to
the function; variables are mapped to -1..1 where the interval is not about 0. Needs mpmath; takes some seconds.
"""

import sys
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 45
ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "stdlib/numerical/SpecialFits.sac"
WANTED = {"double": mp.mpf(2) ** -55, "float": mp.mpf(2) ** -27}
lines = []


def chebyshev(f, lo, hi, n):
    """Coefficients of the interpolant at n points in t of -1..1, x = mid + half t."""
    mid, half = (hi + lo) / 2, (hi - lo) / 2
    angles = [mp.pi * (2 * k + 1) / (2 * n) for k in range(n)]
    values = [f(mid + half * mp.cos(a)) for a in angles]
    return [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) / n / (2 if j == 0 else 1) for j in range(n)]


def monomials(c):
    """The Chebyshev series c as coefficients of powers of t."""
    n = len(c)
    total = [mp.mpf(0)] * n
    before, now = [mp.mpf(1)] + [mp.mpf(0)] * (n - 1), [mp.mpf(0), mp.mpf(1)] + [mp.mpf(0)] * (n - 2)
    for j in range(n):
        t = before
        for k in range(n):
            total[k] += c[j] * t[k]
        nxt = [-before[k] + (2 * now[k - 1] if k else 0) for k in range(n)]
        before, now = now, nxt
    return total


def rescale(p, factor):
    return [c * factor**k for k, c in enumerate(p)]


def shift(p, at):
    """Coefficients of p(x - at)."""
    out = [mp.mpf(0)] * len(p)
    for k, c in enumerate(p):
        for j in range(k + 1):
            out[j] += c * mp.binomial(k, j) * (-at) ** (k - j)
    return out


def literal(c, kind):
    if kind == "float":
        return np.format_float_scientific(np.float32(float(c)), unique=True, trim="-") + "f"
    return repr(float(c)) + "d"


def powers(p, kind, t):
    """Horner's scheme as text."""
    body = literal(p[-1], kind)
    for c in reversed(p[:-1]):
        text = literal(c, kind)
        body = f"({body}) * {t} " + (f"- {text[1:]}" if text.startswith("-") else f"+ {text}")
    return body


def horner(name, p, kind, variable):
    """A function: short polynomials by Horner's scheme, long ones as two, of even and of odd powers, which run beside each other."""
    if len(p) > 6:
        text = f"    s = t * t;\n    return {powers(p[0::2], kind, 's')} + t * ({powers(p[1::2], kind, 's')});"
    else:
        text = f"    return {powers(p, kind, 't')};"
    rows = []
    for line in text.split("\n"):
        row = ""
        for w in line[4:].split(" "):
            if len(row) + len(w) > 116:
                rows.append("    " + row)
                row = "    "
            row = f"{row} {w}" if row.strip() else row + w
        rows.append("    " + row)
    lines.append(f"inline {kind} {name}({kind} {variable})\n{{\n" + "\n".join(rows) + "\n}")


def fit(name, what, f, lo, hi, kinds=("float", "double"), centred=True, limits=None, slack=1, absolute=False):
    """centred: the variable t of the function is the one of the interval mapped to -1..1; else it is x itself."""
    lines.append(f"/* {what} */")
    for kind in kinds:
        a, b = limits[kind] if limits else (lo, hi)
        a, b = mp.mpf(a), mp.mpf(b)
        wanted = WANTED[kind] * slack
        full = chebyshev(f, a, b, 60 if kind == "double" else 36)
        size = min(abs(f(a + (b - a) * k / 16)) for k in range(17)) if not absolute else mp.mpf(1)
        n = len(full)
        while n > 2 and sum(abs(c) for c in full[n - 1:]) < wanted * size:
            n -= 1
        p = monomials(full[:n])
        if not centred:
            p = shift(rescale(p, 2 / (b - a)), (a + b) / 2)
        grow = max(abs(c) for c in p)
        print(f"{name} {kind}: degree {n - 1}, rest {float(sum(abs(c) for c in full[n:])):.2g}, end {float(abs(full[-1])):.1g}, size {float(size):.3g}, greatest {float(grow):.3g}", flush=True)
        horner(name, p, kind, "t")
    lines.append("")


def main():
    lines.append("/* For the library itself: polynomials of the special functions. Made by tests/library/scripts/special_fits.py, which says what they are. */")
    lines.append("module SpecialFits;\n\nuse ScalarArith: { +, -, * };\n\nexport all;\n\n// fmt: off")

    def small_erf(s):
        if s == 0:
            return 2 / mp.sqrt(mp.pi)
        x = mp.sqrt(s)
        return mp.erf(x) / x if s > 0 else mp.erfi(mp.sqrt(-s)) / mp.sqrt(-s)

    fit("fit_erf", "erf(x) / x of t = x^2 up to 1.", small_erf, 0, 1, centred=False)

    # Of v = 1/(x+4), mapped: 0.5..28 for double, 0.5..11 for float.
    def tail(v):
        x = 1 / v - 4
        return x * mp.erfc(x) * mp.exp(x * x)

    fit("fit_erfc", "x exp(x^2) erfc(x), x from 0.5 to 28 (float: 11); t is 1/(x+4) mapped to -1..1.", tail, 0, 0,
        limits={"double": (mp.mpf(1) / 32, mp.mpf(1) / 4.5), "float": (mp.mpf(1) / 15, mp.mpf(1) / 4.5)})

    # erfinv(x)/x of w = -log(1 - x^2): from w find x.
    def inv(w):
        if w < mp.mpf(10) ** -40:
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(-mp.expm1(-w))
        if w < 2:
            return mp.erfinv(x) / x
        small = mp.exp(-w) / (1 + x)  # 1 - x
        z = mp.sqrt(mp.log(1 / small))
        for _ in range(80):
            d = (mp.erfc(z) - small) / (-2 / mp.sqrt(mp.pi) * mp.exp(-z * z))
            z -= d / (1 + z * d)
            if abs(d) < mp.mpf(10) ** -42:
                break
        return z / x

    fit("fit_erfinv_near", "erfinv(x)/x, w = -log(1-x^2) up to 6; t is w mapped to -1..1.", inv, 0, 6)
    fit("fit_erfinv_far", "The same, sqrt(w) from sqrt(6) to 4.25; t is sqrt(w) mapped to -1..1.", lambda r: inv(r * r), mp.sqrt(6), 4.25)
    fit("fit_erfinv_end", "The same, sqrt(w) from 4.25 to 6.25.", lambda r: inv(r * r), 4.25, 6.25, kinds=("double",))

    def lg(t):
        return mp.loggamma(2 + t) / t if t != 0 else 1 - mp.euler

    half = mp.mpf(1) / 2
    fit("fit_lgamma", "log(gamma(2+t)) / t, t from -0.5 to 0.5.", lg, -half, half, centred=False)
    fit("fit_gamma", "gamma(2+t), t from -0.5 to 0.5.", lambda t: mp.gamma(2 + t), -half, half, centred=False)

    def stirling(z):
        if z == 0:
            return mp.mpf(1) / 12
        x = 1 / mp.sqrt(z)
        with mp.workdps(70):
            r = (mp.loggamma(x) - ((x - half) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)) * x
        return +r

    fit("fit_stirling", "x (log(gamma(x)) - ((x - 1/2) log(x) - x + log(2 pi)/2)), t = 1/x^2, x from 8.5.",
        stirling, 0, mp.mpf(1) / mp.mpf(8.5) ** 2, centred=False)

    x0 = mp.findroot(mp.digamma, 1.46)
    hi = mp.mpf(float(x0))
    print("digamma zero", repr(float(x0)), repr(float(x0 - hi)), repr(np.float32(float(x0))), float(x0 - mp.mpf(float(np.float32(float(x0))))))

    fit("fit_digamma", "digamma(y) / (y - its zero), y from 1 to 2; t is y - 1.5.",
        lambda t: mp.digamma(t + 1.5) / (t + 1.5 - x0) if abs(t + 1.5 - x0) > 1e-25 else mp.polygamma(1, x0), -half, half, centred=False)

    def psi_rest(z):
        if z == 0:
            return mp.mpf(1) / 12
        x = 1 / mp.sqrt(z)
        with mp.workdps(80):
            r = (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z
        return +r

    fit("fit_digamma_far", "(log(x) - 1/(2x) - digamma(x)) x^2, t = 1/x^2, x from 8.5.", psi_rest, 0, mp.mpf(1) / mp.mpf(8.5) ** 2, centred=False)

    # (atanh(r)/r - 1)/r^2 of r^2, for log1p(m) - m.
    def at(s):
        if s < mp.mpf(10) ** -20:
            return mp.mpf(1) / 3 + s / 5
        r = mp.sqrt(s)
        return (mp.atanh(r) / r - 1) / s

    fit("fit_atanh", "(atanh(r)/r - 1) / r^2, t = r^2 up to 0.3.", at, 0, 0.3, centred=False, kinds=("double",))

    # Bessel functions.
    fit("fit_i0_near", "i0(x), t = x^2 up to 64.", lambda u: mp.besseli(0, mp.sqrt(u)), 0, 64, centred=False)
    fit("fit_i1_near", "i1(x)/x, likewise.", lambda u: mp.besseli(1, mp.sqrt(u)) / mp.sqrt(u) if u > 0 else half, 0, 64, centred=False)

    def scaled_i(n):
        def f(v):
            if v == 0:
                return 1 / mp.sqrt(2 * mp.pi)
            x = 1 / v
            if x > 400:
                s, term, k = mp.mpf(1), mp.mpf(1), 0
                while abs(term) > mp.mpf(10) ** -45 and k < 300:
                    k += 1
                    term = -term * (4 * n * n - (2 * k - 1) ** 2) / (k * 8 * x)
                    s += term
                return s / mp.sqrt(2 * mp.pi)
            return mp.besseli(n, x) * mp.exp(-x) * mp.sqrt(x)
        return f

    fit("fit_i0_far", "i0(x) exp(-x) sqrt(x), x from 8; t is 16/x - 1.", scaled_i(0), 0, mp.mpf(1) / 8)
    fit("fit_i1_far", "i1(x) exp(-x) sqrt(x), x from 8; t is 16/x - 1.", scaled_i(1), 0, mp.mpf(1) / 8)

    z0 = [mp.besseljzero(0, k) for k in (1, 2)]
    z1 = [mp.besseljzero(1, k) for k in (1, 2)]
    for z in z0 + z1:
        print("bessel zero", repr(float(z)), repr(float(z - mp.mpf(float(z)))), repr(np.float32(float(z))), float(z - mp.mpf(float(np.float32(float(z))))))
    fit("fit_j0_near", "j0(x) / ((x^2 - a^2)(x^2 - b^2)) with its first two zeros a and b; t is 64 - x^2, from 0: no signs alternate.",
        lambda s: mp.besselj(0, mp.sqrt(64 - s)) / (64 - s - z0[0] ** 2) / (64 - s - z0[1] ** 2), 0, 64, centred=False)
    fit("fit_j1_near", "j1(x) / (x (x^2 - a^2)(x^2 - b^2)) likewise.",
        lambda s: (mp.besselj(1, mp.sqrt(64 - s)) / mp.sqrt(64 - s) if s < 64 else half) / (64 - s - z1[0] ** 2) / (64 - s - z1[1] ** 2),
        0, 64, centred=False)

    def phase(n, part):
        """P or Q of the asymptotic form, exactly: from j and y. P + iQ = sqrt(pi x / 2) (j + i y) exp(-i (x - n pi/2 - pi/4))."""
        def f(z):
            if z < mp.mpf(10) ** -6:
                # asymptotic series
                mu, s, term, k = 4 * n * n, mp.mpc(1), mp.mpc(1), 0
                x = 1 / mp.sqrt(z) if z > 0 else mp.mpf(10) ** 15
                while abs(term) > mp.mpf(10) ** -45 and k < 200:
                    k += 1
                    term = term * mp.mpc(0, 1) * (mu - (2 * k - 1) ** 2) / (k * 8 * x)
                    s += term
                return s.real if part == 0 else s.imag * x
            x = 1 / mp.sqrt(z)
            h = mp.mpc(mp.besselj(n, x), mp.bessely(n, x)) * mp.sqrt(mp.pi * x / 2) * mp.expj(-(x - n * mp.pi / 2 - mp.pi / 4))
            return h.real if part == 0 else h.imag * x
        return f

    for n in (0, 1):
        fit(f"fit_j{n}_p", f"P of the asymptotic form of j{n}, x from 8; t is 128/x^2 - 1.", phase(n, 0), 0, mp.mpf(1) / 64)
        fit(f"fit_j{n}_q", f"x Q of the same.", phase(n, 1), 0, mp.mpf(1) / 64)

    # Temme's expansion for gammainc: c_k(eta) as power series. lambda - 1 = mu(eta) with eta^2/2 = mu - log(1 + mu).
    terms = 64
    mu = [mp.mpf(0)] * (terms + 2)
    mu[1] = mp.mpf(1)
    # mu mu' = eta (1 + mu)
    for n in range(2, terms + 2):
        s = (mu[n - 1]) - mp.fsum(mu[j] * (n - j + 1) * mu[n - j + 1] for j in range(2, n))
        mu[n] = s / (n + 1)
    # 1/mu = (1/eta) inverse series
    head = mu[1:]
    inverse = [1 / head[0]]
    for n in range(1, terms):
        inverse.append(-mp.fsum(head[j] * inverse[n - j] for j in range(1, n + 1)) / head[0])
    c = inverse[1:]  # c_0 = 1/mu - 1/eta
    g = [mp.mpf(1)]  # Stirling's: gamma*(a) = sum g_k a^-k
    b = [mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) for k in range(1, 20)]
    log_series = [mp.mpf(0)] * 12
    for k in range(1, 6):
        log_series[2 * k - 1] = b[k - 1]
    for n in range(1, 11):
        g.append(mp.fsum(j * log_series[j] * g[n - j] for j in range(1, n + 1)) / n)
    lines.append("/* Temme's c_k, the coefficient of a^-k, as power series in t = eta, |eta| at most 1. */")
    for k in range(0, 7):
        scale = mp.mpf(200) ** k
        need = WANTED["double"] * scale / 8
        n = len(c)
        while n > 1 and abs(c[n - 1]) < need:
            n -= 1
        print("temme", k, n, [float(x) for x in c[:2]])
        horner(f"temme{k}", c[:n] if n > 1 else c[:1] + [mp.mpf(0)], "double", "t")
        # c_{k+1} = (1/eta) c_k' + (-1)^(k+1) g_{k+1} / mu: the pole cancels.
        derivative = [(j + 1) * c[j + 1] for j in range(len(c) - 1)]
        sign = (-1) ** (k + 1)
        pole = derivative[0] + sign * g[k + 1]
        assert abs(pole) < mp.mpf(10) ** -20, pole
        c = [derivative[j + 1] + sign * g[k + 1] * inverse[j + 1] for j in range(min(len(derivative) - 1, len(inverse) - 1))]
    OUT.write_text("\n".join(lines) + "\n")


main()
