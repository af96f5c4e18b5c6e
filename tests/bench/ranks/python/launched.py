"""What the programs of libraries with communication of their own share: which rank this is, and how it is timed."""
import os
import sys
import time

NAMES = [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")]
rank, ranks = next((int(os.environ[r]), int(os.environ[s])) for r, s in NAMES if r in os.environ)
coordinator, runs, epochs, images, batch = sys.argv[1], *map(int, sys.argv[2:])
"""Where rank 0 listens for the others (HOST:PORT), and the sizes of the training."""

share = slice(batch * rank // ranks, batch * (rank + 1) // ranks)
"""The images of each batch that this rank has."""


def report(train, warm_up, barrier):
    warm_up()
    seconds = []
    for _ in range(runs):
        barrier()
        start = time.perf_counter()
        error = train()
        barrier()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print("seconds", *(f"{s:.9f}" for s in seconds))
        print(f"check {error:.9g}")
