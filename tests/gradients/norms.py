from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
x, y = noise(1, [6]), noise(2, [6])
a, w = noise(3, [4, 3]), noise(4, [4, 3])
length = lambda x: jnp.sqrt(jnp.sum(x * x))
t.value_grad("length", length, x)
t.value_grad("library norm", length, a)
t.value_grad("three norms", lambda x: length(x) * jnp.sum(jnp.abs(x)) * jnp.max(jnp.abs(x)), x)
t.value_grad("p norm", lambda x: jnp.sum(jnp.abs(x) ** 3.5) ** (1 / 3.5), x)
rows = lambda a, axis: jnp.max(jnp.sum(jnp.abs(a), axis=axis))
t.value_grad("norms of a matrix", lambda a: rows(a, 0) + 2 * rows(a, 1), a)
t.value_grad("cosine", lambda x, y: jnp.dot(x, y) / (length(x) * length(y)), x, y)
t.value_grad("unit rows", lambda a, w: jnp.sum(a / jnp.linalg.norm(a, axis=1, keepdims=True) * w), a, w)
t.value_grad("distances", lambda a, w: jnp.sum(jnp.linalg.norm(a[:, None] - w[None], axis=-1)), a, w)
t.value_grad("spectral norm", lambda a: jnp.linalg.norm(a, 2), a)
t.write()
