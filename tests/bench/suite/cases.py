"""What is measured: workloads, their sizes, the programs that compute them, and the work that each stands for."""
from dataclasses import dataclass, field

TYPES = {"f32": "float32", "f64": "float64"}


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    workload: str
    name: str
    sac: str
    """The SaC program, below tests/bench or, for the network, below the repository."""
    c: str | None = None
    macros: dict = field(default_factory=dict)
    """For the SaC and the C program; None is a macro without value."""
    sac_macros: dict = field(default_factory=dict)
    arguments: dict = field(default_factory=dict)
    """For the functions of peers.py in the folder of the workload."""
    options: tuple = ()
    """Command line of the SaC program."""
    flops: float = 0.0
    """Additions and multiplications, for the share of peak; 0 if that says nothing."""
    bytes: float = 0.0
    """Least traffic with memory, for the share of bandwidth; 0 if the data fit a cache."""
    fast_math: bool = False
    """Whether the C program gets -ffast-math: for what is bound by computation."""
    tolerance: float = 1e-5
    """Relative, between the checksums of any two programs."""

    def peer_key(self):
        """Cases with equal keys have the same measurements of all peers."""
        return self.workload, self.c, str(self.macros), str(self.arguments)


def typed(ty, **macros):
    """Macros of a program for an element type."""
    return ({"FLOAT": None} if ty == "f32" else {}) | macros


def width(ty):
    return 4 if ty == "f32" else 8


def cnn(quick):
    epochs, images = (1, 1000) if quick else (10, 10000)
    yield Case(
        "cnn", f"CNN training, {epochs} x {images}", "examples/mnist/zhang.sac",
        arguments={"epochs": epochs, "images": images, "batch": 100},
        options=("-e", str(epochs), "-tr", str(images)),
        flops=1_048_320.0 * epochs * images, tolerance=1e-6,
    )


def matmul(quick):
    for ty in TYPES:
        for n in (64,) if quick else (512, 1024, 2048):
            for form, macros in (("rows", {}), ("textbook", {"TEXTBOOK": None})):
                yield Case(
                    "matmul", f"matrix product {n}, {form}, {ty}", "matmul/matmul.sac", "matmul/matmul.c",
                    typed(ty, SIZE=n), macros, {"dtype": TYPES[ty], "n": n},
                    flops=2.0 * n**3, fast_math=True, tolerance=1e-4,
                )


def stencil(quick):
    for ty in TYPES:
        n, steps = (100, 3) if quick else (4096, 10)
        yield Case(
            "stencil", f"5-point stencil {n}^2 x {steps}, {ty}", "stencil/stencil2d.sac", "stencil/stencil2d.c",
            typed(ty, SIZE=n, STEPS=steps),
            arguments={"kind": "stencil2d", "dtype": TYPES[ty], "n": n, "steps": steps},
            bytes=2.0 * width(ty) * n**2 * steps,
        )
    for ty in TYPES:
        n, steps = (20, 2) if quick else (256, 4)
        yield Case(
            "stencil", f"27-point stencil {n}^3 x {steps}, {ty}", "stencil/stencil3d.sac", "stencil/stencil3d.c",
            typed(ty, SIZE=n, STEPS=steps),
            arguments={"kind": "stencil3d", "dtype": TYPES[ty], "n": n, "steps": steps},
            bytes=2.0 * width(ty) * n**3 * steps,
        )


def nbody(quick):
    for ty in TYPES:
        n = 100 if quick else 4096
        yield Case(
            "nbody", f"n-body {n}, {ty}", "nbody/nbody.sac", "nbody/nbody.c", typed(ty, SIZE=n),
            arguments={"dtype": TYPES[ty], "n": n}, flops=20.0 * n**2, fast_math=True, tolerance=1e-4,
        )


def mandelbrot(quick):
    for ty in TYPES:
        n, limit = (64, 50) if quick else (2048, 256)
        yield Case(
            "mandelbrot", f"Mandelbrot {n}^2 x {limit}, {ty}", "mandelbrot/mandelbrot.sac", "mandelbrot/mandelbrot.c",
            typed(ty, SIZE=n, LIMIT=limit), arguments={"dtype": TYPES[ty], "n": n, "limit": limit},
            fast_math=True, tolerance=1e-3,
        )


WORKLOADS = {f.__name__: f for f in (cnn, matmul, stencil, nbody, mandelbrot)}


def cases(only, quick):
    return [case for name, cases in WORKLOADS.items() if not only or name in only for case in cases(quick)]
