"""References of signal-convolve.sac: the direct method of SciPy, in double precision."""

import numpy as np
import scipy.signal as ss

from cases import EPS, Table, noise

table = Table()


def close(name, value, kind):
    """Transforms have errors beside the greatest result."""
    value = np.asarray(value)
    table.add(name, value, kind, rel=4, absolute=32 * EPS[kind] * np.max(np.abs(value), initial=0))


def convolutions(kind):
    def both(name, a, b):
        close(name, ss.convolve(a, b, method="direct"), kind)
        close(f"{name} same", ss.convolve(a, b, "same", method="direct"), kind)
        close(f"{name} correlation", ss.correlate(a, b, method="direct"), kind)
        full = ss.correlate(a, b, method="direct")
        middle = tuple(slice((t - 1) // 2, (t - 1) // 2 + s) for s, t in zip(a.shape, b.shape))
        close(f"{name} correlation same", full[middle], kind)

    def valid(name, a, b):
        close(f"{name} valid", ss.convolve(a, b, "valid", method="direct"), kind)
        close(f"{name} correlation valid", ss.correlate(a, b, "valid", method="direct"), kind)

    v, w = noise(1, (30,), kind), noise(2, (7,), kind)
    both("vectors", v, w)
    valid("vectors", v, w)
    both("even", v, w[1:])
    m, k = noise(3, (6, 5), kind), noise(4, (3, 4), kind)
    both("matrices", m, k)
    both("across", m, noise(5, (2, 7), kind))
    valid("matrices", m, k)
    valid("matrices", k, m)
    both("one", noise(8, (1,), kind), noise(9, (1,), kind))
    v, w = noise(10, (900,), kind), noise(11, (701,), kind)
    close("long", np.convolve(v, w)[800:840], kind)
    close("long valid", np.convolve(v, w, "valid")[:40], kind)
    c = ss.correlate(noise(12, (40, 41), kind), noise(13, (39, 38), kind), method="direct")
    close("large", c[30:38, 40:45], kind)
    close("empty same", np.zeros(0), kind)


convolutions("double")
convolutions("float")
close("stretches", np.convolve(noise(15, (5200,)), noise(16, (310,)))[5380:], "double")
close("boxes", ss.convolve(noise(6, (4, 3, 5)), noise(7, (2, 2, 3)), method="direct"), "double")
close("unknown rank", ss.convolve(noise(6, (2, 3)), noise(7, (2, 2)), method="direct"), "double")
table.write()
