"""Downhill with steps of changing length, in JAX: a step that does not lead down is half as long; after ten that do, they are twice as long."""


def lowest(value, slope, start):
    import jax
    import jax.numpy as jnp

    def size(x):
        return jnp.sqrt(jnp.sum(x * x))

    def state(x, count, eta):
        return dict(x=x, value=value(x), slope=slope(x), count=count, eta=eta, going=jnp.array(True))

    def move(s):
        near = s["x"] - s["eta"] * s["slope"]
        new = value(near)

        def accept(s):
            return s | dict(x=near, value=new, slope=slope(near), count=s["count"] + 1)

        def reject(s):
            return s | dict(eta=s["eta"] / 2, count=0)

        return jax.lax.cond(size(s["x"] - near) <= 1e-5, lambda s: s | dict(going=jnp.array(False)),
                            lambda s: jax.lax.cond(new < s["value"], accept, reject, s), s)

    def step(s):
        def go_on(s):
            return jax.lax.cond(s["count"] == 10, lambda s: s | dict(eta=s["eta"] * 2, count=0), move, s)

        return jax.lax.cond(size(s["slope"]) <= 1e-5, lambda s: s | dict(going=jnp.array(False)), go_on, s)

    return jax.lax.while_loop(lambda s: s["going"], step, state(start, 0, 1e-5))["x"]
