from reference import Gradients, jax

jnp = jax.numpy
t = Gradients()
x = jnp.array([-2, -0.5, 0.0, 0.25, 0.75, 3])
where = jnp.where


# JAX multiplies the branch not taken by zero: its arguments are made safe by a second choice.
def safe(condition, x, other):
    return where(condition, x, other)


def bumps(x):
    low = jnp.exp(x) * x
    middle = x * jnp.sqrt(jnp.maximum(1 - x * x, 1e-3))
    above = safe(x > 1, x, 2.0)
    return where(x < -1, low, where(x < 1, middle, (above - 1) ** 1.5 + jnp.log(above)))


def at_places(x):
    i = jnp.arange(6)
    roots = (i > 2) & (x > 0.5)
    return where(roots, jnp.sqrt(safe(roots, x, 1.0) - 0.5), where(i == 2, 7 * x, x / 3))


t.value_grad("where sqrt", lambda x: jnp.sum(where(x > 0, jnp.sqrt(safe(x > 0, x, 1)), 0)), x)
t.value_grad("where log", lambda x: jnp.sum(where(x > 0, jnp.log(safe(x > 0, x, 1)) * x, x)), x)
sinc = lambda x: jnp.sum(where(x == 0, 1, jnp.sin(x) / safe(x != 0, x, 1)))
t.value_grad("where sinc", sinc, x)
t.value_grad("sinc", sinc, x)
t.value_grad("log or line", lambda x: jnp.sum(where(x > 0.5, jnp.log(safe(x > 0.5, x, 1)), x - 1) * x), x)
t.value_grad("bumps", lambda x: jnp.sum(bumps(x)), x)
# At 0 the slope is that of the square root.
t.value_grad("first of both", lambda x: jnp.sum(where(x >= 0, jnp.sqrt(safe(x >= 0, x, 1)), -x)), x)
t.value_grad("steep steps", lambda x: jnp.sum(jax.nn.sigmoid(400 * x)), x)
t.value_grad("nested where", lambda x: jnp.sum(where(x > 0, x * x, -x)), x)
t.value_grad("safe argument", lambda x: jnp.sum(jnp.log(where(x > 0, x, 1 - x)) / jnp.maximum(x, 0.5)), x)
t.value_grad("indices and values", lambda x: jnp.sum(at_places(x)), x)
t.write()
