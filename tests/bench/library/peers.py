"""The rows of the table in NumPy and SciPy, PyTorch, JAX.

A library is a function of a row's name that returns what to time and the checksum of its result; see suite/serve.py.
"""
from data import digest, spread, whole
import numpy as np

ROWS = {"numpy": {}, "torch": {}, "jax": {}}


def numpy(row, quick):
    return ROWS["numpy"][row](lambda table, test: test if quick else table)


def torch(row, quick):
    import torch

    torch.set_grad_enabled(False)
    return ROWS["torch"][row](lambda table, test: test if quick else table)


def jax(row, quick):
    return ROWS["jax"][row](lambda table, test: test if quick else table)


def row(library, *names):
    """Says that a function of (size, *arguments) makes rows: {name: arguments} or names without arguments."""

    def known(make):
        for name in names:
            name, *arguments = name if isinstance(name, tuple) else (name,)
            ROWS[library][name] = lambda size, arguments=arguments: make(size, *arguments)
        return make

    return known


def tensor(a):
    import torch

    return torch.from_numpy(a)


def tensors(*shapes):
    """Tensors of series 1, 2, 3, ..."""
    return [tensor(spread(shape, k + 1)) for k, shape in enumerate(shapes)]


# Products.


def squares(n, dtype=np.float32):
    return spread((n, n), 1, dtype), spread((n, n), 2, dtype)


@row("numpy", ("matmul-512", 512, 17), ("matmul-1024", 1024, 18), ("matmul-2048", 2048, 19))
def matmul(size, n, small):
    a, b = squares(size(n, small))
    return lambda: a @ b, digest


@row("numpy", "matmul-tn-1024")
def matmul_tn(size):
    a, b = squares(size(1024, 20))
    return lambda: a.T @ b, digest


@row("numpy", "matmul-nt-1024")
def matmul_nt(size):
    a, b = squares(size(1024, 20))
    return lambda: a @ b.T, digest


@row("numpy", "tcrossprod-2048")
def tcrossprod(size):
    a = spread((size(2048, 20),) * 2, 1)
    # A copy, or else NumPy computes half of the product, too.
    b = a.copy()
    return lambda: a @ b.T, digest


@row("numpy", "lower-2048")
def lower(size):
    a, b = squares(size(2048, 20))
    a = np.tril(a)
    return lambda: a @ b, digest


@row("numpy", "tall-64")
def tall(size):
    n = size(1000000, 100)
    a, b = spread((n, size(64, 5)), 1), spread((n, size(64, 4)), 2)
    return lambda: a.T @ b, digest


@row("numpy", "batch-16")
def batch(size):
    n = size(10000, 7)
    a, b = spread((n, 16, 16), 1), spread((n, 16, 16), 2)
    return lambda: a @ b, digest


# Factors.


def definite(n):
    a = spread((n, n), 1, np.float64)
    return a @ a.T + n * np.eye(n)


def dominant(n):
    return spread((n, n), 1, np.float64) + np.sqrt(n) * np.eye(n)


def dominant_lower(n):
    return np.tril(spread((n, n), 1, np.float64) + n * np.eye(n))


@row("numpy", ("cholesky-1000", 1000, 20), ("cholesky-2000", 2000, 21))
def cholesky(size, n, small):
    import scipy.linalg

    a = definite(size(n, small))
    return lambda: scipy.linalg.cholesky(a, lower=True, check_finite=False), digest


@row("torch", "cholesky-back-1000")
def cholesky_back(size):
    import torch

    n = size(1000, 20)
    dl = tensor(np.tril(spread((n, n), 2, np.float64)))
    with torch.enable_grad():
        a = tensor(definite(n)).requires_grad_()
        l = torch.linalg.cholesky(a)
    gradient = lambda: torch.autograd.grad(l, a, dl, retain_graph=True)[0]
    # Here the gradient is symmetric; Ravel's is to the lower triangle, the only one that is read.
    return gradient, lambda da: digest(np.tril(da) + np.tril(da, -1))


@row("numpy", ("lu-1000", 1000, 20), ("lu-2000", 2000, 21))
def lu(size, n, small):
    import scipy.linalg

    n = size(n, small)
    a = dominant(n)

    def check(result):
        factors, exchanges = result
        order = np.arange(n)
        for i, j in enumerate(exchanges):
            order[[i, j]] = order[[j, i]]
        return digest(factors, order)

    return lambda: scipy.linalg.lu_factor(a, check_finite=False), check


@row("numpy", ("qr-1000", 1000, 20), ("qr-2000", 2000, 21))
def qr(size, n, small):
    a = dominant(size(n, small))
    return lambda: np.linalg.qr(a), lambda result: digest(abs(result[0]), abs(result[1]))


@row("numpy", ("tri-solve-2000", 2000, 20), ("tri-solve-1000-1000", 1000, 20, 1000, 19))
def tri_solve(size, n, small, *columns):
    import scipy.linalg

    n = size(n, small)
    l, b = dominant_lower(n), spread((n, size(*columns)) if columns else n, 2, np.float64)
    return lambda: scipy.linalg.solve_triangular(l, b, lower=True, check_finite=False), digest


@row("numpy", "solve-1000")
def solve(size):
    n = size(1000, 20)
    a, b = dominant(n), spread(n, 2, np.float64)
    return lambda: np.linalg.solve(a, b), digest


# Convolutions.


def layer(size, window, c, s, o, **options):
    from torch.nn.functional import conv2d

    x, w = tensors((size(8, 2), size(*c), size(*s), size(*s)), (size(*o), size(*c) // options.get("groups", 1), window, window))
    return lambda: conv2d(x, w, **options), digest


@row("torch", "conv-7x7-224")
def conv7(size):
    return layer(size, 7, (3, 3), (224, 14), (64, 4), stride=2, padding=3)


@row(
    "torch", ("conv-3x3-56", (64, 3), (56, 7), (64, 4)), ("conv-3x3-28", (128, 4), (28, 7), (128, 3)),
    ("conv-3x3-14", (256, 5), (14, 5), (256, 3)), ("conv-3x3-7", (512, 5), (7, 4), (512, 6)),
)
def conv3(size, c, s, o):
    return layer(size, 3, c, s, o, padding=1)


@row("torch", ("conv-1x1-56", (256, 5), (56, 4), (64, 3)), ("conv-1x1-7", (512, 5), (7, 3), (2048, 6)))
def conv1(size, c, s, o):
    return layer(size, 1, c, s, o)


@row("torch", "depthwise-112")
def depthwise(size):
    return layer(size, 3, (32, 32), (112, 5), (32, 32), padding=1, groups=32)


@row(
    "torch", ("conv-back-x-56", (64, 3), (56, 7), (64, 4), 0), ("conv-back-w-56", (64, 3), (56, 7), (64, 4), 1),
    ("conv-back-x-14", (256, 3), (14, 6), (256, 4), 0), ("conv-back-w-14", (256, 3), (14, 6), (256, 4), 1),
)
def conv_back(size, c, s, o, to):
    import torch

    n, c, s, o = size(8, 2), size(*c), size(*s), size(*o)
    x, w, dy = tensors((n, c, s, s), (o, c, 3, 3), (n, o, s, s))
    wanted = [to == 0, to == 1, False]
    gradients = torch.ops.aten.convolution_backward
    return lambda: gradients(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, wanted)[to], digest


# Layers.


@row("torch", "batch-norm-relu")
def batch_norm_relu(size):
    from torch.nn.functional import batch_norm

    c, s = size(64, 3), size(56, 5)
    x, scale, shift = tensors((size(32, 2), c, s, s), c, c)
    return lambda: batch_norm(x, None, None, scale, shift, True, 0.1, 1e-5).relu_(), digest


@row("torch", "layer-norm")
def layer_norm(size):
    from torch.nn.functional import layer_norm

    n = size(1024, 20)
    x, scale, shift = tensors((size(8192, 5), n), n, n)
    return lambda: layer_norm(x, (n,), scale, shift, 1e-5), digest


@row("torch", "softmax")
def softmax(size):
    (x,) = tensors((size(8192, 5), size(1024, 20)))
    x *= 8
    return lambda: x.softmax(1), digest


def image(size):
    return tensors((size(8, 2), size(64, 3), size(112, 9), size(112, 9)))[0]


@row("torch", "max-pool")
def max_pool(size):
    from torch.nn.functional import max_pool2d

    x = image(size)
    return lambda: max_pool2d(x, 3, 2, 1), digest


@row("torch", "max-pool-back", "max-pool-placed")
def max_pool_back(size):
    import torch

    x = image(size)
    with torch.enable_grad():
        y = torch.nn.functional.max_pool2d(x.requires_grad_(), 3, 2, 1)
    dy = tensor(spread(tuple(y.shape), 2))
    return lambda: torch.autograd.grad(y, x, dy, retain_graph=True)[0], digest


@row("torch", ("relu", "relu"), ("gelu", "gelu"), ("tanh", "tanh"))
def each(size, name):
    import torch

    f = torch.tanh if name == "tanh" else getattr(torch.nn.functional, name)
    (x,) = tensors(size(10000000, 100))
    x *= 8
    return lambda: f(x), digest


@row("torch", "adam")
def adam(size):
    import torch

    n = size(4000000, 100)

    def state():
        w, g, m, v = tensors(n, n, n, n)
        w.grad = g
        optimiser = torch.optim.Adam([w], lr=1e-3, fused=True)
        optimiser.state[w] = {"step": torch.tensor(9.0), "exp_avg": 0.1 * m, "exp_avg_sq": 0.1 + 0.1 * v}
        return w, optimiser

    w, optimiser = state()

    def step():
        optimiser.step()
        return w

    def check(_):
        w, optimiser = state()
        optimiser.step()
        return digest(w, *(optimiser.state[w][name] for name in ("exp_avg", "exp_avg_sq")))

    return step, check


# Sequences.


def lstm(size):
    import torch

    t, n, m = size(50, 3), size(64, 2), size(1024, 5)
    x, w, r, b, h, c, dy = tensors((t, n, m), (4 * m, m), (4 * m, m), 4 * m, (n, m), (n, m), (t, n, m))
    net = torch.nn.LSTM(m, m)
    weights = net.weight_ih_l0, net.weight_hh_l0, net.bias_ih_l0, net.bias_hh_l0
    for parameter, values in zip(weights, (0.1 * w, 0.1 * r, b, 0 * b)):
        parameter.copy_(values)
    return net, weights, x, (h[None], c[None]), dy


@row("torch", "lstm-forward")
def lstm_forward(size):
    net, _, x, start, _ = lstm(size)
    return lambda: net(x, start)[0], digest


@row("torch", "lstm-step")
def lstm_step(size):
    import torch

    net, weights, x, start, dy = lstm(size)
    x.requires_grad_()
    for parameter in weights:
        parameter.requires_grad_()

    def step():
        with torch.enable_grad():
            return torch.autograd.grad(net(x, start)[0], (x, *weights[:3]), dy)

    return step, lambda gradients: digest(*gradients)


@row("torch", "attention-16")
def attention(size):
    from torch.nn.functional import scaled_dot_product_attention

    shape = size(16, 2), size(1024, 9), size(64, 5)
    q, k, v = tensors(shape, shape, shape)
    return lambda: scaled_dot_product_attention(q[None], k[None], v[None]), digest


@row("jax", "attention-16")
def attention_jax(size):
    import jax

    shape = size(16, 2), size(1024, 9), size(64, 5)
    q, k, v = (jax.numpy.asarray(spread(shape, series)) for series in (1, 2, 3))

    @jax.jit
    def heads(q, k, v):
        weights = jax.nn.softmax(jax.numpy.einsum("hik,hjk->hij", q, k) / np.float32(np.sqrt(shape[2])), axis=-1)
        return jax.numpy.einsum("hij,hjk->hik", weights, v)

    return lambda: heads(q, k, v).block_until_ready(), digest


@row("torch", "ctc")
def ctc(size):
    import torch

    t, n, k, l = size(150, 9), size(32, 3), size(28, 6), size(20, 3)
    (x,) = tensors((t, n, k))
    label = tensor(1 + whole((n, l), 2, size(27, 5))).long()
    times, lengths = torch.full((n,), t), torch.full((n,), l)
    x.requires_grad_()

    def step():
        with torch.enable_grad():
            loss = torch.nn.functional.ctc_loss(x.log_softmax(2), label, times, lengths, reduction="none")
            return loss.detach(), torch.autograd.grad(loss.sum(), x)[0]

    return step, lambda result: digest(*result)


# Statistics.


@row("numpy", "plug-in-20000")
def plug_in(size):
    n = size(20000, 50)
    x = spread(n, 1) ** 3 + spread(n, 2)

    def pairs(z, f, block=256):
        """Sums of all pairs' f of the squared difference, a block of rows at a time."""
        return sum(float(f(np.square(z[i : i + block, None] - z)).sum(dtype=np.float64)) for i in range(0, n, block))

    def width():
        s = x.std(ddof=1, dtype=np.float64)
        z = ((x - x.mean()) / s).astype(np.float32)
        root = np.sqrt(2 * np.pi)
        sixth = lambda y: (((y - 15) * y + 45) * y - 15) * np.exp(np.float32(-0.5) * y)
        fourth = lambda y: ((y - 6) * y + 3) * np.exp(np.float32(-0.5) * y)
        g1 = (30 / root / (105 / (32 * np.sqrt(np.pi)) * n)) ** (1 / 9)
        psi6 = pairs(z / np.float32(g1), sixth) / root / (n * n * g1**7)
        g2 = (-6 / root / (psi6 * n)) ** (1 / 7)
        psi4 = pairs(z / np.float32(g2), fourth) / root / (n * n * g2**5)
        return s * (1 / (2 * np.sqrt(np.pi) * psi4 * n)) ** 0.2

    return width, lambda h: digest([h])


@row("jax", "plug-in-20000")
def plug_in_jax(size):
    import jax

    n, block = size(20000, 50), size(250, 10)
    x = jax.numpy.asarray(spread(n, 1) ** 3 + spread(n, 2))

    def pairs(z, f):
        """As above; blocks are rounds of a compiled loop, which XLA makes one pass of."""
        rows = jax.lax.map(lambda b: f(jax.numpy.square(b[:, None] - z)).sum(dtype=np.float32), z.reshape(-1, block))
        return rows.sum(dtype=np.float64)

    @jax.jit
    def width(x):
        s = x.std(ddof=1, dtype=np.float64)
        z = ((x - x.mean()) / s).astype(np.float32)
        root = np.sqrt(2 * np.pi)
        sixth = lambda y: (((y - 15) * y + 45) * y - 15) * jax.numpy.exp(np.float32(-0.5) * y)
        fourth = lambda y: ((y - 6) * y + 3) * jax.numpy.exp(np.float32(-0.5) * y)
        g1 = (30 / root / (105 / (32 * np.sqrt(np.pi)) * n)) ** (1 / 9)
        psi6 = pairs(z / np.float32(g1), sixth) / root / (n * n * g1**7)
        g2 = (-6 / root / (psi6 * n)) ** (1 / 7)
        psi4 = pairs(z / g2.astype(np.float32), fourth) / root / (n * n * g2**5)
        return s * (1 / (2 * np.sqrt(np.pi) * psi4 * n)) ** 0.2

    return lambda: width(x).block_until_ready(), lambda h: digest([h])


@row("numpy", ("lscv-2000", (30, 1), 0.05), ("lscv-2000-16", (60, 16), 0.4))
def lscv(size, small, first):
    n, d = size(2000, small[0]), small[1]
    x = spread((n, d), 1) + spread((n, d), 2)
    grid = (first + 0.01 * np.arange(size(150, 7))).astype(np.float32)

    def errors():
        cov = np.cov(x.T).reshape(d, d)
        z = (x @ np.linalg.cholesky(np.linalg.inv(cov))).astype(np.float32)
        norms = np.square(z).sum(1)
        y = np.maximum(norms[:, None] + norms - 2 * (z @ z.T), 0)[np.triu_indices(n, 1)]
        found = []
        for h in grid.astype(np.float64):
            e = np.exp(np.float32(-0.25 / h**2) * y)
            total = (e * (1 - np.float32(2 * 2 ** (d / 2)) * e)).sum(dtype=np.float64)
            found.append((4 * np.pi) ** (-d / 2) / np.sqrt(np.linalg.det(cov)) * (2 * total / n + 1) / n * h**-d)
        return found

    return errors, digest


@row("numpy", "glm-logit")
def glm(size):
    n, k = size(100000, 40), size(100, 5)
    x, y, beta = spread((n, k), 1, np.float64), whole(n, 2, 2), spread(k, 3, np.float64)

    def likelihood():
        m = x @ beta + 0.5
        r = y - 1 / (1 + np.exp(-m))
        return (y * m - np.logaddexp(0, m)).sum(), r.sum(), r @ x

    return likelihood, lambda result: digest(result[:2], result[2])


@row("numpy", "knn-1000")
def knn(size):
    d, k = size(64, 5), size(10, 3)
    table, query = spread((size(1000, 30), d), 1), spread((size(1000, 20), d), 2)

    def near():
        squares = np.square(query).sum(1)[:, None] + np.square(table).sum(1) - 2 * (query @ table.T)
        at = np.argpartition(squares, k, axis=1)[:, :k]
        return np.sqrt(np.sort(np.take_along_axis(squares, at, 1), axis=1))

    return near, digest


@row("numpy", "k-means")
def k_means(size):
    from sklearn.cluster import KMeans

    n, d = size(100000, 60), size(16, 3)
    i, j = np.arange(n)[:, None], np.arange(d)
    x = spread((n, d), 1) + ((i % 10 * 7 + j * 3) % 10).astype(np.float32)
    fit = lambda: KMeans(10, n_init=1, max_iter=size(10, 2), tol=0, algorithm="lloyd", random_state=1).fit(x)
    return fit, lambda fitted: digest([fitted.inertia_])


# Arrays.


@row("numpy", "sort-1e6")
def sort_doubles(size):
    x = spread(size(1000000, 1000), 1, np.float64)
    return lambda: np.sort(x), digest


@row("numpy", "sort-1e7")
def sort_floats(size):
    x = spread(size(10000000, 1000), 1)
    return lambda: np.sort(x), digest


@row("numpy", "argsort-1e6")
def argsort(size):
    x = spread(size(1000000, 1000), 1, np.float64)
    return lambda: np.argsort(x), digest


def along(f, axis, shape):
    x = np.float32(0.5) + spread(shape, 1)
    return lambda: f(x, axis=axis), digest


@row("numpy", "cumsum-1e7")
def cumsum(size):
    return along(np.cumsum, 0, size(10000000, 1000))


@row("numpy", ("cumsum-axis-0", 0), ("cumsum-axis-1", 1))
def cumsum_axis(size, axis):
    return along(np.cumsum, axis, (size(3162, 40),) * 2)


@row("numpy", ("sum-last", 1), ("sum-first", 0))
def sum_axis(size, axis):
    return along(np.sum, axis, (size(3162, 40),) * 2)


@row("numpy", "sum-last-tall")
def sum_tall(size):
    return along(np.sum, 1, (size(1000000, 1000), 16))


@row("numpy", "histogram")
def histogram(size):
    x = spread(size(10000000, 1000), 1)
    return lambda: np.histogram(x, 256, (-0.5, 0.5))[0], digest


def mean_square(x):
    return float(np.square(x, dtype=np.float64).mean())


@row("numpy", "uniform")
def uniform(size):
    generator, n = np.random.default_rng(7), size(10000000, 1000)
    return lambda: generator.random(n, dtype=np.float32), mean_square


@row("numpy", "normal")
def normal(size):
    generator, n = np.random.default_rng(7), size(10000000, 1000)
    return lambda: generator.standard_normal(n, dtype=np.float32), mean_square
