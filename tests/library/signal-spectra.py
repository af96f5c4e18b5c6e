"""References of signal-spectra.sac, from SciPy in double precision."""

import warnings

import numpy as np
import scipy.signal as ss

from cases import EPS, Table, noise

warnings.simplefilter("ignore")
table = Table()


def put(name, value, kind):
    """Errors beside the greatest result."""
    value = np.asarray(value)
    if np.iscomplexobj(value):
        value = np.stack([value.real, value.imag], axis=-1)
    table.add(name, value, kind, rel=4, absolute=32 * EPS[kind] * np.max(np.abs(value), initial=0))


def windows(kind):
    w = ss.windows
    n = 0
    while n < 10:
        for name, value in (
            ("hann", w.hann(n)),
            ("hamming", w.hamming(n)),
            ("blackman", w.blackman(n)),
            ("bartlett", w.bartlett(n)),
            ("kaiser", w.kaiser(n, 6)),
            ("gaussian", w.gaussian(n, 2.5)),
            ("tukey", w.tukey(n, 0.5)),
            ("tukey 0", w.tukey(n, 0)),
            ("tukey 1", w.tukey(n, 1)),
        ):
            table.add(name, value, kind, rel=4, absolute=4 * EPS["double"])
        n += 1 + n // 3


def spectra(kind):
    x, m = noise(1, (50,), kind), noise(2, (2, 40), kind)
    put("periodogram", ss.periodogram(x)[1], kind)
    f, p = ss.periodogram(x[1:])
    put("periodogram", p, kind)
    put("frequencies", f, kind)
    put("periodogram rows", ss.periodogram(m)[1], kind)
    put("welch", ss.welch(x)[1], kind)
    for segment, overlap in (16, None), (15, 4), (10, 0):
        options = {"nperseg": segment, "noverlap": overlap}
        f, p = ss.welch(x, **options)
        put("welch", p, kind)
        put("frequencies", f, kind)
        put("welch rows", ss.welch(m, **options)[1], kind)
        f, t, p = ss.spectrogram(x, **options)
        put("spectrogram", p, kind)
        put("times", t, kind)
        put("spectrogram rows", ss.spectrogram(m, **options)[2], kind)
        z = ss.stft(x, **options)[2]
        put("stft", z, kind)
        put("stft rows", ss.stft(m, **options)[2], kind)
        put("istft", ss.istft(z, **options)[1][:50], kind)
    f, t, z = ss.stft(x, nperseg=16, noverlap=12)
    put("stft", z, kind)
    put("frequencies", f, kind)
    put("times", t, kind)
    put("istft", m, kind)


for part in windows, spectra:
    for kind in "double", "float":
        part(kind)
table.write()
