"""What is measured: workloads, their sizes, the programs that compute them, and the work that each stands for."""
from dataclasses import dataclass, field, replace

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


def simple(workload, name, ty, sizes, program=None, arguments=None, **work):
    """A case whose macros are the sizes; `name` has a place for each, and `arguments` are their names in Python."""
    program = f"{workload}/{program or workload}"
    names = arguments or ["n", "limit"]
    given = dict(zip(names, sizes.values()))
    if ty:
        given["dtype"] = TYPES[ty]
    label = name.format(*sizes.values()) + (f", {ty}" if ty else "")
    return Case(workload, label, f"{program}.sac", f"{program}.c", typed(ty, **sizes), arguments=given, **work)


def nbody(quick):
    n = 100 if quick else 4096
    for ty in TYPES:
        yield simple("nbody", "n-body {}", ty, {"SIZE": n}, flops=20.0 * n**2, fast_math=True, tolerance=1e-4)


def mandelbrot(quick):
    n, limit = (64, 50) if quick else (2048, 256)
    for ty in TYPES:
        yield simple("mandelbrot", "Mandelbrot {}^2 x {}", ty, {"SIZE": n, "LIMIT": limit}, fast_math=True, tolerance=1e-3)


def attention(quick):
    n, d = (50, 16) if quick else (1024, 64)
    for ty in TYPES:
        yield simple(
            "attention", "attention {}, depth {}", ty, {"SIZE": n, "DEPTH": d}, arguments=["n", "d"],
            flops=4.0 * n**2 * d, fast_math=True, tolerance=1e-4,
        )


def kde(quick):
    for ty in TYPES:
        yield simple("kde", "density of {} points", ty, {"SIZE": 100 if quick else 10000}, fast_math=True, tolerance=1e-3)


def mapreduce(quick):
    n = 10**4 if quick else 10**7
    for kind, label, arrays in (("norms", "sum of norms", 2), ("axpy", "a x + y", 3), ("softmax", "softmax", 2)):
        for ty in TYPES:
            case = simple(
                "mapreduce", f"{label}, {{:.0e}}", ty, {"SIZE": n}, kind, bytes=float(arrays * n * width(ty)),
                fast_math=True, tolerance=1e-2 if ty == "f32" else 1e-6,
            )
            yield replace(case, arguments=case.arguments | {"kind": kind})


def histogram(quick):
    n = 10**4 if quick else 10**7
    yield simple("histogram", "histogram {:.0e}, {} bins", None, {"SIZE": n, "BINS": 256}, arguments=["n", "bins"],
                 tolerance=0.0)


def kmeans(quick):
    n, steps = (1000, 3) if quick else (10**6, 5)
    for ty in TYPES:
        yield simple(
            "kmeans", "k-means {:.0e} points, {} centers x {}", ty, {"SIZE": n, "COUNT": 8, "STEPS": steps},
            arguments=["n", "k", "steps"], fast_math=True, tolerance=1e-3,
        )


def fft(quick):
    for exponent in (6,) if quick else (16, 18, 20):
        yield simple("fft", f"Fourier transform 2^{exponent}, f64", None, {"SIZE": 2**exponent}, fast_math=True)


def scan(quick):
    n = 10**4 if quick else 10**7
    for ty in TYPES:
        yield simple("scan", "prefix sums {:.0e}", ty, {"SIZE": n}, bytes=2.0 * n * width(ty),
                     tolerance=1e-2 if ty == "f32" else 1e-6)


WORKLOADS = {
    f.__name__: f
    for f in (cnn, matmul, stencil, nbody, mandelbrot, attention, kde, mapreduce, histogram, kmeans, fft, scan)
}


def cases(only, quick):
    return [case for name, cases in WORKLOADS.items() if not only or name in only for case in cases(quick)]
