"""Sweeps of the mean of four neighbors: rows of a rank between a row of each neighbor, which travels meanwhile."""
import numpy as np
from ranks import MPI, bounds, checksum, comm, dtype, finish, measure, rank, ranks, series, sizes

n, steps = sizes
first, last = bounds(n)
up = rank - 1 if rank > 0 else MPI.PROC_NULL
down = rank + 1 if rank < ranks - 1 else MPI.PROC_NULL
plate = np.zeros((last - first + 2, n), dtype)
plate[1:-1] = series(first * n, last * n, 7919).reshape(-1, n)
buffers = plate.copy(), plate.copy()
scratch = np.empty((len(plate), n - 2), dtype)


def sweep_rows(u, v, begin, end):
    """Rows `begin` to `end`, but not the border of the plate."""
    begin, end = max(begin, 2 if rank == 0 else 1), min(end, len(u) - (2 if rank == ranks - 1 else 1))
    if begin < end:
        t = scratch[begin:end]
        np.add(u[begin - 1 : end - 1, 1:-1], u[begin + 1 : end + 1, 1:-1], out=t)
        np.add(t, u[begin:end, :-2], out=t)
        np.add(t, u[begin:end, 2:], out=t)
        np.multiply(t, dtype.type(0.25), out=v[begin:end, 1:-1])


def sweep(u, v):
    requests = [comm.Irecv(u[0], up, 0), comm.Irecv(u[-1], down, 1), comm.Isend(u[1], up, 1), comm.Isend(u[-2], down, 0)]
    sweep_rows(u, v, 2, len(u) - 2)
    MPI.Request.Waitall(requests)
    sweep_rows(u, v, 1, 2)
    sweep_rows(u, v, len(u) - 2, len(u) - 1)


def relax():
    u = plate
    for step in range(steps):
        v = buffers[step % 2]
        sweep(u, v)
        u = v
    return u


finish(checksum(measure(relax)[1:-1], first * n))
