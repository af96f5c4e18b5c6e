from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
m, w = noise(1, [5, 5]), noise(2, [5, 5])
positive = lambda m: m @ m.T + 2 * np.eye(5)
weighted = lambda m, w: jnp.sum(jnp.linalg.cholesky(positive(m)) * w)
t.value_grad("columns", weighted, m, w)
t.value_grad("rows", lambda m: weighted(m, w), m)
t.value_grad("log of the determinant", lambda m: jnp.linalg.slogdet(positive(m))[1], m)
t.value_grad("library", lambda m: weighted(m, w), m)
t.write()
