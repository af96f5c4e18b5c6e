"""References of signal-fourier.sac, from SciPy in double precision."""

import numpy as np
import scipy.fft as sf
import scipy.signal as ss

from cases import EPS, Table, noise

table = Table()


def pairs(z):
    return np.stack([z.real, z.imag], axis=-1)


def put(name, value, kind):
    """Errors of transforms grow as log n, beside the greatest result."""
    value = np.asarray(value)
    if np.iscomplexobj(value):
        value = pairs(value)
    table.add(name, value, kind, rel=4, absolute=4 * EPS[kind] * np.log2(value.size + 2) * np.max(np.abs(value), initial=0))


def some(seed, shape, kind):
    z = noise(seed, (*shape, 2), kind)
    return z[..., 0] + 1j * z[..., 1]


def lengths(kind):
    for n in 1, 2, 3, 5, 7, 8, 12, 25, 26, 61, 67, 90, 134, 256:
        z = some(n, (n,), kind)
        put("fft", sf.fft(z), kind)
        put("ifft", sf.ifft(z), kind)
        x = noise(n + 1, (n,), kind)
        put("rfft", sf.rfft(x), kind)
        put("irfft", x, kind)
        put("dct", sf.dct(x), kind)
        put("idct", sf.idct(x), kind)
        put("dst", sf.dst(x), kind)
        put("hilbert", ss.hilbert(x), kind)


def axes(kind):
    z = some(1, (3, 4, 5), kind)
    x = noise(2, (3, 4, 5), kind)
    for axis in 0, -2, 2:
        put("fft axis", sf.fft(z, axis=axis), kind)
        put("rfft axis", sf.rfft(x, axis=axis), kind)
        put("irfft axis", sf.irfft(z, 6, axis=axis), kind)
        put("dct axis", sf.dct(x, 3, axis=axis), kind)
    put("ifft axis", sf.ifft(z, axis=0), kind)
    put("idct axis", sf.idct(x, 3, axis=0), kind)
    put("dst axis", sf.dst(x, 3, axis=-2), kind)
    put("idst axis", sf.idst(x, 2, axis=0), kind)
    put("hilbert axis", ss.hilbert(x, axis=0), kind)
    put("fftn", sf.fftn(z, axes=(1, 2)), kind)
    put("ifftn", sf.ifftn(z, axes=(1, 2)), kind)
    put("rfftn", sf.rfftn(x, axes=(1, 2)), kind)
    put("irfftn", sf.irfftn(z, s=(3, 4, 7)), kind)
    put("all axes", sf.fftn(z), kind)
    put("all axes", sf.rfftn(x), kind)
    put("hfft", sf.hfft(z, 7), kind)
    put("ihfft", sf.ihfft(x), kind)
    put("long rows", sf.fft(some(3, (2, 130), kind)), kind)
    put("many columns", sf.fft(some(4, (18, 9), kind), axis=0), kind)
    put("no columns", np.zeros((3, 0), complex), kind)
    put("no rows", np.zeros((0, 2), complex), kind)
    put("nothing", np.zeros((2, 0), complex), kind)
    put("nothing", np.zeros((2, 0)), kind)
    for name, f in ("fftfreq", sf.fftfreq), ("rfftfreq", sf.rfftfreq):
        for n in 5, 6:
            table.elementwise(name, f(n, 1.0), kind, 1)
    table.exact("fftshift", sf.fftshift(x), kind)
    table.exact("fftshift axis", sf.fftshift(x, axes=-1), kind)
    table.exact("ifftshift", sf.ifftshift(x), kind)


for part in lengths, axes:
    for kind in "double", "float":
        part(kind)
put("unknown rank", sf.fft(some(5, (2, 3, 4), "double"), axis=1), "double")
z = some(1, (4, 6), "double")
put("known", sf.fftn(z), "double")
table.exact("shifted", sf.fftshift([0, 1, 2, -2, -1]), "int")
table.exact("shifted", pairs(sf.fftshift(z)), "double")
table.exact("shifted", pairs(sf.ifftshift(some(1, (4, 5), "double"), axes=1)), "double")
table.write()
