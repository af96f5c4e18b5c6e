"""All pairs of bodies: a rank moves its bodies, in blocks of whole matrices; all know where all are."""
import numpy as np
from ranks import bounds, checksum, dtype, finish, gather, measure, series, sizes

SOFTENING, DT, BLOCK = 1e-3, 0.01, 256
(n,) = sizes
first, last = bounds(n)
position = np.stack([series(0, n, k) for k in (7919, 7921, 7923)]).astype(dtype)
mass = ((series(0, n, 104723) + 0.5) / n).astype(dtype)
count = last - first
velocity = np.stack([series(first, last, 104729), np.zeros(count), -np.ones(count)]).astype(dtype)


def step():
    parts = []
    for start in range(first, last, BLOCK):
        d = position[:, None, :] - position[:, start : min(start + BLOCK, last), None]
        r2 = (d * d).sum(0) + dtype.type(SOFTENING)
        parts.append(((mass / (r2 * np.sqrt(r2))) * d).sum(2))
    moved = velocity + dtype.type(DT) * np.concatenate(parts, 1)
    there = position[:, first:last] + dtype.type(DT) * moved
    return gather(np.ascontiguousarray(there.T), n).T, moved


there, moved = measure(step)
finish(checksum(moved[0], first) + checksum(moved[1], first) + checksum(there[2, first:last], first))
