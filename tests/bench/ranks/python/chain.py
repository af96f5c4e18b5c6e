"""Square roots by Newton's iterations: every element by itself, array after array."""
import numpy as np
from ranks import bounds, checksum, dtype, finish, measure, series, sizes

n, steps = sizes
first, last = bounds(n)
a = (1.0 + series(first, last, 7919)).astype(dtype)
x, t = np.empty_like(a), np.empty_like(a)


def roots():
    x.fill(1)
    for _ in range(steps):
        np.divide(a, x, out=t)
        np.add(x, t, out=x)
        np.multiply(x, dtype.type(0.5), out=x)
    return x


finish(checksum(measure(roots), first))
