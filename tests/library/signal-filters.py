"""References of signal-filters.sac, from SciPy in double precision."""

import numpy as np
import scipy.signal as ss

from cases import EPS, Table, noise, whole

table = Table()


def put(name, value, kind, roundings=64):
    """Errors beside the greatest result."""
    value = np.asarray(value)
    table.add(name, value, kind, rel=4, absolute=roundings * EPS[kind] * np.max(np.abs(value), initial=0))


def rounded(x, kind):
    return np.asarray(x, np.float32 if kind == "float" else np.float64).astype(np.float64)


def recursions(kind):
    def share(w):
        return float(rounded(w, kind))

    x, m = noise(1, (60,), kind), noise(2, (40, 3), kind)
    b, a = ss.butter(4, share(0.3))
    put("butter b", b, kind)
    put("butter a", a, kind)
    b, a = rounded(b, kind), rounded(a, kind)
    put("lfilter", ss.lfilter(b, a, x), kind, 512)
    put("lfilter scaled", ss.lfilter(b, 2 * a, x), kind, 512)
    put("lfilter axis", ss.lfilter(b, a, m, axis=0), kind, 512)
    put("lfilter short", ss.lfilter([1, 0.5], [2, -0.5, 0.25], x), kind)
    put("lfilter rows", ss.lfilter([1, 0.5], [1, -0.5], m), kind)
    put("moving sum", ss.lfilter(np.ones(5), [1], x), kind)
    put("nothing", np.zeros(0), kind)
    put("filtfilt", ss.filtfilt(b, a, x), kind, 2048)
    put("filtfilt axis", ss.filtfilt(b, a, m, axis=0), kind, 2048)
    for n in range(1, 6):
        sos = rounded(ss.butter(n, share(0.4), output="sos"), kind)
        put("sosfilt", ss.sosfilt(sos, x), kind, 512)
        put("sosfilt axis", ss.sosfilt(sos, m, axis=0), kind, 512)
        put("sosfiltfilt", ss.sosfiltfilt(sos, x), kind, 1024)
    put("sections", ss.butter(4, share(0.6), output="sos"), kind)


def smoothing(kind):
    def share(w):
        return float(rounded(w, kind))

    x, m = noise(1, (60,), kind), noise(2, (7, 9), kind)
    for n in 1, 6, 11:
        put("firwin", ss.firwin(n, share(0.35)), kind)
    put("firwin", ss.firwin(20, share(0.8)), kind)
    table.exact("medfilt", ss.medfilt(x, 3), kind)
    table.exact("medfilt", ss.medfilt(x, 7), kind)
    table.exact("medfilt", ss.medfilt(x, 15), kind)
    table.exact("medfilt", ss.medfilt(x, 59), kind)
    table.exact("medfilt", ss.medfilt(m, 3), kind)
    table.exact("medfilt", m, kind)
    put("savgol", ss.savgol_filter(x, 7, 3), kind, 512)
    put("savgol", ss.savgol_filter(x, 11, 4), kind, 512)
    put("savgol axis", ss.savgol_filter(m, 5, 2, axis=0), kind, 512)
    put("savgol axis", ss.savgol_filter(m, 9, 1), kind, 512)


def rates(kind):
    x, m = noise(1, (60,), kind), noise(2, (7, 9), kind)
    for n in range(28, 33):
        put("resample", ss.resample(x, n), kind)
        put("resample", ss.resample(x[:30], n), kind)
    put("resample axis", ss.resample(m, 4), kind)
    put("resample axis", ss.resample(m, 10), kind)
    put("decimate", ss.decimate(x, 3), kind, 4096)
    put("decimate axis", ss.decimate(noise(3, (30, 2), kind), 2, axis=0), kind, 4096)


def peaks(kind):
    x = noise(1, (60,), kind)

    def put(name, x, **options):
        table.exact(name, ss.find_peaks(x, **options)[0], "int")

    put("peaks", x)
    put("height", x, height=0.5)
    put("distance", x, distance=4)
    put("prominence", x, prominence=1.5)
    put("all options", x, height=0.25, prominence=0.75, distance=3)
    put("plateaus", whole(2, (50,), 3).astype(float))
    put("few points", x[:2])
    put("no points", x[:0])


for part in recursions, smoothing, rates, peaks:
    for kind in "double", "float":
        part(kind)
put("unknown rank", ss.lfilter([1, 2, 3, 4], [1, 0.5], noise(5, (2, 6, 2)), axis=1), "double")
table.write()
