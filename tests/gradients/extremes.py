from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
a, b = noise(1, [4, 5]), noise(2, [4, 5])
t.value_grad("range", lambda a: jnp.max(a) * jnp.min(a), a)
t.value_grad("pairs", lambda a, b: jnp.sum(jnp.maximum(a, b) * jnp.minimum(a, 2 * b)), a, b)
t.value_grad("rows", lambda a: jnp.sum(jnp.max(a, axis=1) * jnp.arange(1.0, 5.0)), a)
t.value_grad("greatest of the least", lambda a: jnp.max(jnp.min(a, axis=0)), a)
# JAX's running maximum shares ties that its own rounds make.
running = lambda b: jnp.stack([jnp.max(b[:, : j + 1], axis=1) for j in range(5)], axis=1)
t.value_grad("running maximum", lambda a, b: jnp.sum(running(b) * a), a, b)
at = int(jnp.argmax(a[2]))
t.value_grad("place", lambda a, b: a[2, at] * b[2, at] + at, a, b)
x = noise(4, [7])
t.value_grad("sorted", lambda x: jnp.sum(jnp.sort(x) * jnp.arange(1.0, 8.0)), x)
span = lambda x: jnp.sum((x - jnp.min(x)) ** 2 / (jnp.max(x) - jnp.min(x)))
t.value_grad("absolute and range", lambda x: jnp.max(jnp.abs(x)) + span(x), x)
t.write()
