"""Matrix product: ranks have rows of all three matrices; the second one is gathered."""
import numpy as np
from ranks import bounds, checksum, dtype, finish, gather, measure, series, sizes

(n,) = sizes
first, last = bounds(n)
a = (series(first * n, last * n, 7919) - 0.5).astype(dtype).reshape(-1, n)
b = series(first * n, last * n, 104729).astype(dtype).reshape(-1, n)
c = np.empty_like(a)

finish(checksum(measure(lambda: np.matmul(a, gather(b, n), out=c)), first * n))
