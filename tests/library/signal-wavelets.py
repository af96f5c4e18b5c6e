"""References of signal-wavelets.sac.

The wavelets of Daubechies are factored with mpmath, the transforms are matrices made from the definition of PyWavelets'
periodization: approximation k is the sum over j of dec_lo[j] x[2k + F/2 - j], detail k that of dec_hi[j].
"""

import mpmath as mp
import numpy as np

from cases import EPS, Table, noise

mp.mp.dps = 60
table = Table()


def put(name, value, kind):
    value = np.asarray(value)
    if np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], axis=-1)
    table.add(name, value, kind, rel=4, absolute=16 * EPS[kind] * np.max(np.abs(value), initial=0))


def times(h, c):
    """The polynomial h times z - c."""
    return [(h[i] if i < len(h) else 0) - c * (h[i - 1] if i else 0) for i in range(len(h) + 1)]


def daubechies(n):
    """The extremal phase: of each pair of roots that within the unit circle."""
    roots = mp.polyroots([mp.binomial(n - 1 + k, k) for k in reversed(range(n))], maxsteps=500, extraprec=400)
    h = [mp.mpf(1)]
    for _ in range(n):
        h = times(h, -1)
    for y in roots:
        b = 1 - 2 * y
        z = b + mp.sqrt(b * b - 1)
        h = times(h, z if abs(z) < 1 else 1 / z)
    h = [mp.re(c) for c in h]
    return np.array([float(c * mp.sqrt(2) / sum(h)) for c in h])


def matrix(rec_lo, n):
    length = len(rec_lo)
    dec_lo = rec_lo[::-1]
    dec_hi = np.array([(-1) ** k * rec_lo[length - 1 - k] for k in range(length)])[::-1]
    w = np.zeros((n, n))
    for k in range(n // 2):
        for j in range(length):
            at = (2 * k + length // 2 - j) % n
            w[k, at] += dec_lo[j]
            w[n // 2 + k, at] += dec_hi[j]
    return w


def dwt(x, k, w):
    for axis in range(x.ndim - k, x.ndim):
        x = np.moveaxis(np.tensordot(matrix(w, x.shape[axis]), x, (1, axis)), 0, axis)
    return x


def wavedec(x, k, levels, w):
    x = x.copy()
    for level in range(levels):
        corner = tuple(slice(0, s if j < x.ndim - k else s >> level) for j, s in enumerate(x.shape))
        x[corner] = dwt(x[corner], k, w)
    return x


def cwt(x, widths):
    t = np.arange(len(x))
    rows = []
    for s in widths:
        u = (t[:, None] - t[None, :]) / s
        rows.append(np.pi**-0.25 * np.exp(5j * u - u * u / 2) @ x / np.sqrt(s))
    return np.array(rows)


def discrete(kind):
    x, m = noise(1, (24,), kind), noise(2, (8, 12), kind)
    put("haar", dwt(x, 1, np.sqrt([0.5, 0.5])), kind)
    for n in range(2, 9):
        w = daubechies(n)
        put("dwt", dwt(x, 1, w), kind)
        put("idwt", x, kind)
        put("short", dwt(x[:4], 1, w), kind)
        put("short", x[:2], kind)
    w = daubechies(3)
    put("dwt 2d", dwt(m, 2, w), kind)
    put("dwt rows", dwt(m, 1, w), kind)
    put("idwt 2d", m, kind)
    put("wavedec", wavedec(x, 1, 3, w), kind)
    put("waverec", x, kind)
    put("wavedec 2d", wavedec(m, 2, 2, w), kind)
    put("waverec 2d", m, kind)
    put("no levels", m, kind)
    put("box", wavedec(noise(3, (2, 4, 8), kind), 2, 1, w), kind)
    put("empty", np.zeros((0, 4)), kind)


def others(kind):
    x = noise(1, (40,), kind)
    put("cwt", cwt(x, [0.5, 1, 2.5, 10]), kind)
    put("cwt of a point", cwt(x[:1], [2]), kind)
    put("threshold", np.sign(x) * np.maximum(np.abs(x) - 0.75, 0), kind)
    put("threshold_hard", np.where(np.abs(x) < 0.75, 0, x).reshape(4, 10), kind)
    put("of a number", np.sign(x[3]) * max(abs(x[3]) - 0.5, 0), kind)


for part in discrete, others:
    for kind in "double", "float":
        part(kind)
put("unknown rank", dwt(noise(4, (4, 6)), 2, np.sqrt([0.5, 0.5])), "double")
table.write()
