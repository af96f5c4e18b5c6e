from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
a, w = noise(1, [3, 4]), noise(2, [3, 4])
t.value_grad("sum", jnp.sum, a)
t.value_grad("product of sums", lambda a, w: jnp.sum(a * w) * jnp.sum(a), a, w)
t.value_grad("weighted columns", lambda a: jnp.sum(jnp.sum(a * a, axis=0) * jnp.arange(1.0, 5.0)), a)
t.value_grad("sum of the first axis", lambda a: jnp.sum(jnp.sum(a, axis=0) * w[0]), a)
t.value_grad("prod", jnp.prod, a)
one = a.copy()
one[1, 2] = 0
t.value_grad("prod with a zero", jnp.prod, one)
two = one.copy()
two[2, 0] = 0
t.value_grad("prod with two zeros", jnp.prod, two)
t.value_grad("products of rows", lambda a: jnp.sum(jnp.prod(a, axis=1) * w[:, 1]), two)
x = noise(3, [5])
t.value_grad("product by a loop", jnp.prod, x)
x[3] = 0
t.value_grad("products with and without a zero", lambda x: jnp.prod(x) + jnp.prod(x + 1), x)
t.value_grad("fold of two partitions", lambda x: 2 + jnp.sum(x[1::2] * x[:-1:2]) + x[0] + x[4], x)
t.write()
