"""The particle, forwards outside, since JAX does not reverse loops of unknown length."""
import sys
from pathlib import Path

from data import digest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def jax(what, way):
    import jax
    import jax.numpy as jnp
    from descent import lowest

    def potential(x, w):
        a, b = jnp.stack([10.0, 10.0 - w]) - x, jnp.array([10.0, 0.0]) - x
        return 1 / jnp.sqrt(jnp.sum(a * a)) + 1 / jnp.sqrt(jnp.sum(b * b))

    force = jax.jacfwd(potential) if way[1] == "f" else jax.grad(potential)

    def flight(w):
        def step(state):
            x, speed, pull = state
            speed = speed - 0.1 * pull
            return x + 0.1 * speed, speed, force(x, w)

        x, speed = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0])
        x, speed, _ = jax.lax.while_loop(lambda s: s[0][1] > 0, step, (x + 0.1 * speed, speed, force(x, w)))
        return (x[0] - x[1] / speed[1] * speed[0]) ** 2

    f = jax.jit(lambda w: lowest(flight, jax.jacfwd(flight), w))
    return lambda: f(0.0).block_until_ready(), digest


reference = jax
