"""A saddle point, forwards outside, since JAX does not reverse loops of unknown length."""
import sys
from pathlib import Path

from data import digest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def jax(what, way):
    import jax
    import jax.numpy as jnp
    from descent import lowest

    start = jnp.array([1.0, 1.0])

    def cost(x, y):
        return jnp.sum(x * x) - jnp.sum(y * y)

    def highest(x, start):
        return lowest(lambda y: -cost(x, y), jax.jacfwd(lambda y: -cost(x, y)) if way[1] == "f" else jax.grad(lambda y: -cost(x, y)), start)

    @jax.jit
    def found(start):
        most = lambda x: cost(x, highest(x, start))
        x = lowest(most, jax.jacfwd(most), start)
        return jnp.concatenate([x, highest(x, start)])

    return lambda: found(start).block_until_ready(), digest


reference = jax
