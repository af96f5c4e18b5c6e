"""The rows of the table: which program has them, beside whom, and how fast they should be."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    program: str
    """The SaC program in this folder that has a row of this name; so has peers.py for every peer."""
    peers: tuple
    goal: tuple = (None, None)
    """Ravel's time over the best peer's, on one thread and on more."""
    limit: tuple = (None, None)
    """Milliseconds, beside the ratio or instead of it."""
    tolerance: float = 1e-3
    """Relative, between the checksums."""
    random: bool = False
    """Whether checksums agree only for large sizes."""


def both(goal):
    return (goal, goal)


def products():
    rows = "products", ("numpy",)
    for n in (512, 1024, 2048):
        yield Row(f"matmul-{n}", f"matrix product {n}", *rows, both(1.0))
    yield Row("matmul-tn-1024", "the first transposed, 1024", *rows, both(1.0))
    yield Row("matmul-nt-1024", "the second transposed, 1024", *rows, both(1.0))
    yield Row("tcrossprod-2048", "tcrossprod 2048; whole product", *rows, both(0.55))
    yield Row("lower-2048", "lower x dense 2048; whole product", *rows, both(0.6))
    yield Row("tall-64", "64 x 1,000,000 x 64", *rows, both(1.0))
    yield Row("batch-16", "10,000 products 16", *rows, both(0.5))


def factors():
    rows = "factors", ("numpy",)
    yield Row("cholesky-1000", "Cholesky 1000, f64", *rows, both(1.67))
    yield Row("cholesky-2000", "Cholesky 2000, f64", *rows, both(1.54))
    yield Row("cholesky-back-1000", "gradient of Cholesky 1000, f64", "factors", ("torch",), both(0.5))
    for n in (1000, 2000):
        yield Row(f"lu-{n}", f"LU {n}, f64", *rows, both(1.67))
    for n in (1000, 2000):
        yield Row(f"qr-{n}", f"QR {n}, f64", *rows, both(1.67))
    yield Row("tri-solve-2000", "triangular system 2000, f64", *rows, both(1.67))
    yield Row("tri-solve-1000-1000", "1000 triangular systems 1000, f64", *rows, both(1.67))
    yield Row("solve-1000", "system 1000, f64", *rows, both(1.67))


def convolutions():
    rows = "convolutions", ("torch",)
    yield Row("conv-7x7-224", "conv 7-7-3-224-224-64 /2, batch 8", *rows, both(1.6))
    for c, s in ((64, 56), (128, 28), (256, 14), (512, 7)):
        yield Row(f"conv-3x3-{s}", f"conv 3-3-{c}-{s}-{s}-{c}, batch 8", *rows, both(1.6))
    yield Row("conv-1x1-56", "conv 1-1-256-56-56-64, batch 8", *rows, both(1.1))
    yield Row("conv-1x1-7", "conv 1-1-512-7-7-2048, batch 8", *rows, both(1.1))
    yield Row("depthwise-112", "depthwise 3x3, 112^2 x 32, batch 8", *rows, both(1.0))
    for c, s in ((64, 56), (256, 14)):
        for to, what in (("x", "data"), ("w", "weights")):
            yield Row(f"conv-back-{to}-{s}", f"to {what}, 3-3-{c}-{s}-{s}-{c}, batch 8", *rows, both(1.25))


def layers():
    rows = "layers", ("torch",)
    yield Row("batch-norm-relu", "batch norm + relu, training, 32x64x56x56", *rows, both(0.6))
    yield Row("layer-norm", "layer norm 8192 x 1024", *rows)
    yield Row("softmax", "softmax 8192 x 1024", *rows)
    yield Row("max-pool", "max pool 3x3 /2, 8x64x112x112", *rows)
    yield Row("max-pool-back", "its gradient, places unknown", *rows)
    yield Row("max-pool-placed", "its gradient, places known from before, as PyTorch's are", *rows)
    for name in ("relu", "gelu", "tanh"):
        yield Row(name, f"{name} 10,000,000", *rows)
    yield Row("adam", "Adam, 4,000,000 weights", *rows)


def sequences():
    rows = "sequences", ("torch",)
    yield Row("lstm-forward", "LSTM t 50, n 64, h 1024", *rows, both(1.1))
    yield Row("lstm-step", "the same with all gradients", *rows, both(1.2))
    yield Row("attention-16", "attention 16 heads, 1024, 64", "sequences", ("torch", "jax"), both(0.95))
    yield Row("ctc", "CTC with gradient, t 150, n 32, k 28", *rows, both(0.5))


def statistics():
    rows = "statistics", ("numpy",)
    peers = "statistics", ("numpy", "jax")
    yield Row("plug-in-20000", "plug-in width of 20,000", *peers, both(0.6), limit=both(150), tolerance=1e-2)
    yield Row("lscv-2000", "cross-validated width, 2000, 150 h", *rows, both(1 / 30), tolerance=1e-2)
    yield Row("lscv-2000-16", "the same in 16 dimensions", *rows, both(1 / 30), tolerance=1e-2)
    yield Row("glm-logit", "logistic regression with gradient, 100,000 x 100, f64", *rows, both(0.55))
    yield Row("knn-1000", "10 nearest, 1000 x 1000 x 64", *rows)
    yield Row("k-means", "k-means, 100,000 x 16, 10 centres, 10 steps", *rows, tolerance=5e-2, random=True)


def arrays():
    rows = "arrays", ("numpy",)
    yield Row("sort-1e6", "sort 1,000,000, f64", *rows, (1.5, 0.9))
    yield Row("sort-1e7", "sort 10,000,000", *rows, (1.5, 0.9))
    yield Row("argsort-1e6", "argsort 1,000,000, f64", *rows, both(0.4))
    yield Row("cumsum-1e7", "running sums of 10,000,000", *rows, limit=(None, 5.0))
    yield Row("cumsum-axis-0", "running sums of 3162^2 down columns", *rows)
    yield Row("cumsum-axis-1", "the same along rows", *rows)
    yield Row("sum-last-tall", "sums of rows, 1,000,000 x 16", *rows)
    yield Row("sum-last", "sums of rows, 3162^2", *rows)
    yield Row("sum-first", "sums of columns, 3162^2", *rows)
    yield Row("histogram", "histogram of 10,000,000, 256 bins", *rows)
    yield Row("uniform", "uniform 10,000,000", *rows, both(0.25), random=True)
    yield Row("normal", "normal 10,000,000", *rows, both(0.4), random=True)


ROWS = [row for part in (products, factors, convolutions, layers, sequences, statistics, arrays) for row in part()]
