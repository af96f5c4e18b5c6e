"""Zhang's network in JAX with a process per rank: each has its part of every batch; gradients are summed by `psum`.

The layers are those of tests/bench/cnn/peers.py.
"""
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from launched import batch, coordinator, epochs, images, rank, ranks, report, share
from peers import RATE, initial_weights, jax_error, training_set

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(coordinator, ranks, rank)
mesh = Mesh(np.array(jax.devices()), ("ranks",))
everywhere = PartitionSpec()


def distributed(a):
    """An array whose last axis is the batch, of which this rank has its part."""
    spread = PartitionSpec(*[None] * (a.ndim - 1), "ranks")
    return jax.make_array_from_process_local_data(NamedSharding(mesh, spread), np.ascontiguousarray(a[..., share])), spread


pixels, outputs = training_set(images, batch)
x, x_spread = distributed(pixels.transpose(0, 2, 3, 1))
wanted, wanted_spread = distributed(outputs.transpose(0, 2, 1))


error = jax_error()


def step(weights, pair):
    value, gradients = jax.lax.psum(jax.value_and_grad(error)(weights, *pair), "ranks")
    return [w - RATE * (g / batch) for w, g in zip(weights, gradients)], value


epoch = jax.jit(jax.shard_map(
    lambda weights, x, wanted: jax.lax.scan(step, weights, (x, wanted)), mesh=mesh,
    in_specs=(everywhere, x_spread, wanted_spread), out_specs=everywhere, check_vma=False,
))


def train(epochs):
    weights = initial_weights()
    for _ in range(epochs):
        weights, errors = epoch(weights, x, wanted)
    return float(np.asarray(errors, np.float64).sum()) / (len(pixels) * batch)


report(lambda: train(epochs), lambda: train(1), lambda: multihost_utils.sync_global_devices("measured"))
jax.distributed.shutdown()
