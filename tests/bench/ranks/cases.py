"""What is measured on several ranks: programs, sizes, and what each is wanted to reach."""
from dataclasses import dataclass, field

THREADS, RANKS, SINGLE, BEFORE = "Ravel, threads", "Ravel, ranks", "Ravel, 1 thread", "Ravel before"
C, NUMPY, TORCH, JAX = "C+MPI", "mpi4py+NumPy", "PyTorch DDP", "JAX"

TYPES = {"f32": "float32", "f64": "float64"}


@dataclass(frozen=True)
class Goal:
    """The time of Ravel on ranks, as a multiple of another one's."""

    against: str
    limit: float
    words: str
    is_speed: bool = False
    """Whether the goal is told the other way round: how many times faster Ravel is to be."""

    def met(self, own, other):
        return own <= self.limit * other

    def found(self, own, other):
        return f"{other / own:.2f} x as fast" if self.is_speed else f"{own / other:.2f} x"


def at_most(limit, against):
    return Goal(against, limit, f"at most {limit:.2f} x {against}")


def faster(times, against):
    return Goal(against, 1 / times, f"at least {times:g} x as fast as {against}", is_speed=True)


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    sac: str
    """Below tests/bench or, for the network, below the repository."""
    ty: str
    sizes: dict
    """Macros of the SaC and the C program; without names, arguments of the Python programs."""
    runs: int
    """How often a program measures itself each time it is started."""
    ranks: int
    goals: tuple = ()
    python: str | None = None
    """The program of mpi4py, if there is one."""
    c: str | None = None
    tolerance: float = 1e-5
    """Relative, between the checksums of any two programs. Those of Ravel must be equal in all digits."""
    options: tuple = ()
    """Command line of the SaC program."""
    max_waiting: float | None = None
    """The share of the time that ranks may wait for each other."""
    training: dict = field(default_factory=dict)

    def macros(self):
        return ({"FLOAT": None} if self.ty == "f32" else {}) | self.sizes


def own(name, title, sac, ty, sizes, runs, ranks, goals=(), peers=("c", "python"), **more):
    """A case whose peers' programs have its name."""
    files = {"c": f"c/{name}.c", "python": f"python/{name}.py"}
    return Case(name, f"{title}, {ty}", sac, ty, sizes, runs, ranks, goals, **{p: files[p] for p in peers}, **more)


def cases(quick):
    def size(table, test):
        return test if quick else table

    epochs, images = size((10, 10000), (1, 1000))
    yield Case(
        "cnn", f"CNN training, {epochs} x {images}", "examples/mnist/zhang.sac", "f32", {}, size(2, 1), 2,
        (at_most(1.10, THREADS), faster(8, TORCH), faster(6, JAX)), tolerance=1e-6,
        options=("-e", str(epochs), "-tr", str(images)), training={"epochs": epochs, "images": images, "batch": 100},
    )
    n, steps = size((4096, 10), (100, 3))
    yield own("stencil", f"5-point stencil {n}^2 x {steps}", "stencil/stencil2d.sac", "f64", {"SIZE": n, "STEPS": steps},
              5, 2, (at_most(1.10, C), faster(6, NUMPY)), max_waiting=0.05)
    n = size(2048, 100)
    yield own("product", f"matrix product {n}", "matmul/matmul.sac", "f32", {"SIZE": n}, 5, 2,
              (at_most(1.15, THREADS), faster(0.95, NUMPY)), tolerance=1e-4)
    n = size(4096, 100)
    like_threads = (at_most(1.10, THREADS),)
    yield own("nbody", f"n-body {n}", "nbody/nbody.sac", "f32", {"SIZE": n}, 10, 4, like_threads, tolerance=1e-4)
    n, steps = size((10**6, 5), (1000, 3))
    yield own("kmeans", f"k-means {n:.0e} points, 8 centers x {steps}", "kmeans/kmeans.sac", "f32",
              {"SIZE": n, "COUNT": 8, "STEPS": steps}, 10, 4, like_threads, tolerance=1e-3)
    n = size(10000, 100)
    yield own("density", f"density of {n} points", "kde/kde.sac", "f32", {"SIZE": n}, 10, 4, like_threads, tolerance=1e-3)
    n, limit = size((2048, 256), (64, 50))
    yield own("mandelbrot", f"Mandelbrot {n}^2 x {limit}", "mandelbrot/mandelbrot.sac", "f32",
              {"SIZE": n, "LIMIT": limit}, 5, 4, like_threads, peers=("c",), tolerance=1e-3)
    n = size(2**20, 2**6)
    yield own("fft", f"Fourier transform 2^{n.bit_length() - 1}", "fft/fft.sac", "f64", {"SIZE": n}, 10, 2,
              (at_most(1.3, THREADS),), peers=())
    n, steps = size((4096, 20), (100, 3))
    yield own("power", f"power iteration {n}^2 x {steps}", "ranks/power.sac", "f64", {"SIZE": n, "STEPS": steps}, 5, 2)
    n, steps = size((10**7, 10), (1000, 3))
    yield own("chain", f"element-wise chain {n:.0e} x {steps}", "ranks/chain.sac", "f64", {"SIZE": n, "STEPS": steps}, 5, 2)
