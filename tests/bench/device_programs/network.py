"""Zhang's network in PyTorch and JAX on a device: the arithmetic, batches and initial weights of examples/mnist/zhang.sac.

Each function gives the seconds of one training with the data on the device, the median of several.
"""
import statistics
import time

BATCH = 100


def seconds(train, wait):
    train()
    wait()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        train()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def torch(peers, epochs, images):
    """Eager, and with all batches of an epoch captured as one CUDA graph."""
    import torch
    import torch.nn.functional as F

    on = torch.device("cuda")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    x, wanted = (torch.from_numpy(part).to(on) for part in peers.training_set(images, BATCH))

    def fresh():
        return [torch.from_numpy(w).to(on).requires_grad_() for w in peers.initial_weights()]

    def step(weights, x, wanted, errors):
        k1, b1, k2, b2, fc, b = weights
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(x[:, None], k1, b1)), 2)
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(h, k2, b2)), 2)
        out = torch.sigmoid(F.linear(h.flatten(1), fc, b))
        error = 0.5 * ((out - wanted) ** 2).sum()
        gradients = torch.autograd.grad(error / BATCH, weights)
        with torch.no_grad():
            torch._foreach_sub_(weights, torch._foreach_mul(gradients, peers.RATE))
            errors += error

    def epoch(weights, errors):
        for pair in zip(x, wanted):
            step(weights, *pair, errors)

    weights, errors = fresh(), torch.zeros((), device=on)
    eager = seconds(lambda: [epoch(weights, errors) for _ in range(epochs)], torch.cuda.synchronize)
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        epoch(weights, errors)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        epoch(weights, errors)
    return eager, seconds(lambda: [graph.replay() for _ in range(epochs)], torch.cuda.synchronize)


def jax(peers, epochs, images):
    """Convolutions as matrix products (the formulation of tests/bench/cnn), and XLA's own; an epoch is one scan."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    train, _, _ = peers.jax(epochs, images, BATCH)
    products = seconds(train, lambda: None)
    x, wanted = map(jnp.asarray, peers.training_set(images, BATCH))

    def convolution(a, k, b):
        return jax.lax.conv(a, k, (1, 1), "VALID") + b[None, :, None, None]

    def pool(a):
        images, maps, rows, columns = a.shape
        return a.reshape(images, maps, rows // 2, 2, columns // 2, 2).mean((3, 5))

    def error(weights, x, wanted):
        k1, b1, k2, b2, fc, b = weights
        h = pool(jax.nn.sigmoid(convolution(x[:, None], k1, b1)))
        h = pool(jax.nn.sigmoid(convolution(h, k2, b2)))
        out = jax.nn.sigmoid(h.reshape(BATCH, 192) @ fc.T + b)
        return 0.5 * ((out - wanted) ** 2).sum()

    def step(weights, pair):
        value, gradients = jax.value_and_grad(error)(weights, *pair)
        return [w - peers.RATE * (g / BATCH) for w, g in zip(weights, gradients)], value

    epoch = jax.jit(lambda weights: jax.lax.scan(step, weights, (x, wanted)))

    def whole():
        weights = [jnp.asarray(w) for w in peers.initial_weights()]
        for _ in range(epochs):
            weights, errors = epoch(weights)
        jax.block_until_ready(errors)

    return products, seconds(whole, lambda: None)
