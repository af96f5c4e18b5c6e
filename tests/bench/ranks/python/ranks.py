"""What the mpi4py programs share: which rows a rank owns, data, timing, checksums over all ranks.

They are called with the element type, the number of measurements and the sizes of their case.
"""
import sys
import time

import numpy as np
from data import datum
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
dtype = np.dtype(sys.argv[1])
runs, *sizes = map(int, sys.argv[2:])


def bounds(n, r=rank):
    """The indices of n that rank r owns: from, to."""
    return n * r // ranks, n * (r + 1) // ranks


def series(first, last, k):
    """The numbers `first` to `last` of series k of the data."""
    return datum(np.arange(first, last, dtype=np.int64), k)


def gather(part, n):
    """All n parts that the ranks own, along axis 0."""
    whole = np.empty((n, *part.shape[1:]), part.dtype)
    width = part[:1].size
    counts = [width * (last - first) for first, last in (bounds(n, r) for r in range(ranks))]
    comm.Allgatherv(part, [whole, counts])
    return whole


def measure(run):
    """Runs once to warm up, then `runs` times, each from when all ranks are there to when all are done; the last result."""
    run()
    seconds = []
    for _ in range(runs):
        comm.Barrier()
        start = time.perf_counter()
        result = run()
        comm.Barrier()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print("seconds", *(f"{s:.9f}" for s in seconds))
    return result


def checksum(part, first=0):
    """The part of the checksum for elements of which the first is number `first` of the whole array."""
    flat = np.asarray(part).reshape(-1).astype(np.float64)
    return float(sum((1 + (first + w) % 3) * flat[w::3].sum() for w in range(3)))


def finish(part):
    """Prints the sum of what the ranks have."""
    total = comm.reduce(part)
    if rank == 0:
        print(f"check {total:.15g}")
