"""The power iteration: ranks have rows of the matrix, and all have the vector."""
import numpy as np
from ranks import bounds, checksum, dtype, finish, gather, measure, rank, series, sizes

n, steps = sizes
first, last = bounds(n)
a = series(first * n, last * n, 7919).astype(dtype).reshape(-1, n)


def iterate():
    x = np.ones(n, dtype)
    for _ in range(steps):
        x = gather(a @ x, n)
        x /= np.sqrt(x @ x)
    return x


result = measure(iterate)
finish(checksum(result) if rank == 0 else 0.0)
