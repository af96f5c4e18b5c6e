"""Zhang's network in PyTorch and JAX: the same arithmetic, batches and initial weights as examples/mnist/zhang.sac.

The check is the mean error of the last epoch.
"""
import gzip
import struct
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent.parent
DATA = ROOT / "examples" / "mnist" / "data"
RATE = 0.05
SHAPES = [((6, 1, 5, 5), 25), ((6,), 6), ((12, 6, 5, 5), 150), ((12,), 12), ((10, 192), 192), ((10,), 10)]


def read_idx(name):
    data = gzip.open(DATA / name).read()
    rank = data[3]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank]))


def training_set(images, batch):
    """Batches of raw pixels and of the wanted outputs."""
    count = images // batch
    x = read_idx("train-images-idx3-ubyte.gz")[: count * batch].astype(np.float32)
    labels = read_idx("train-labels-idx1-ubyte.gz")[: count * batch]
    return x.reshape(count, batch, 28, 28), np.eye(10, dtype=np.float32)[labels].reshape(count, batch, 10)


def initial_weights():
    return [np.full(shape, 1 / unit, np.float32) for shape, unit in SHAPES]


def torch(epochs, images, batch):
    import torch
    import torch.nn.functional as F

    x, wanted = map(torch.from_numpy, training_set(images, batch))

    def step(weights, x, wanted):
        k1, b1, k2, b2, fc, b = weights
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(x[:, None], k1, b1)), 2)
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(h, k2, b2)), 2)
        out = torch.sigmoid(F.linear(h.flatten(1), fc, b))
        error = 0.5 * ((out - wanted) ** 2).sum()
        gradients = torch.autograd.grad(error / batch, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients):
                weight.sub_(gradient, alpha=RATE)
        return error.item()

    def train(epochs, batches):
        weights = [torch.from_numpy(w).requires_grad_() for w in initial_weights()]
        for _ in range(epochs):
            error = sum(step(weights, *pair) for pair in zip(x[:batches], wanted)) / (len(x) * batch)
        return error

    return lambda: train(epochs, len(x)), float, lambda: train(1, 5)


def jax_error():
    """The error of the network for a batch, in JAX. Convolutions are one matrix product each, of the weights with all windows
    side by side (im2col). The batch is the innermost axis of every array, so that no array is ever transposed. Of the
    formulations in JAX this is the fastest known here: XLA's own convolutions are several times slower."""
    import jax
    import jax.numpy as jnp

    def convolution(a, k, b):
        maps, rows, columns, batch = a.shape
        windows = jnp.stack([a[:, i : i + rows - 4, j : j + columns - 4] for i in range(5) for j in range(5)], 1)
        out = k.reshape(len(k), -1) @ windows.reshape(maps * 25, -1) + b[:, None]
        return out.reshape(-1, rows - 4, columns - 4, batch)

    def pool(a):
        maps, rows, columns, batch = a.shape
        return a.reshape(maps, rows // 2, 2, columns // 2, 2, batch).mean((2, 4))

    def error(weights, x, wanted):
        k1, b1, k2, b2, fc, b = weights
        h = pool(jax.nn.sigmoid(convolution(x[None], k1, b1)))
        h = pool(jax.nn.sigmoid(convolution(h, k2, b2)))
        out = jax.nn.sigmoid(fc @ h.reshape(192, -1) + b[:, None])
        return 0.5 * ((out - wanted) ** 2).sum()

    return error


def jax(epochs, images, batch):
    """Training with `jax_error`; an epoch is one compiled scan."""
    import jax
    import jax.numpy as jnp

    x, wanted = training_set(images, batch)
    x = jnp.asarray(x.transpose(0, 2, 3, 1))
    wanted = jnp.asarray(wanted.transpose(0, 2, 1))

    error = jax_error()

    def step(weights, pair):
        value, gradients = jax.value_and_grad(error)(weights, *pair)
        return [w - RATE * (g / batch) for w, g in zip(weights, gradients)], value

    epoch = jax.jit(lambda weights, x, wanted: jax.lax.scan(step, weights, (x, wanted)))

    def train(epochs):
        weights = [jnp.asarray(w) for w in initial_weights()]
        for _ in range(epochs):
            weights, errors = epoch(weights, x, wanted)
        return float(np.asarray(errors, np.float64).sum()) / (len(x) * batch)

    return lambda: train(epochs), float, lambda: train(1)
