from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
a, c, w = noise(1, [9]), noise(2, [3]) * 0.4, noise(3, [9])
m, s = noise(4, [3, 4]), noise(5, [3, 4])


def filtered(x, c):
    y = [c[0] * x[0]]
    y.append(c[0] * x[1] + c[1] * y[0])
    for i in range(2, 9):
        y.append(c[0] * x[i] + c[1] * y[i - 1] + c[2] * y[i - 2])
    return jnp.stack(y)


def horner(c, x):
    y = 0.0
    for k in range(8, -1, -1):
        y = y * x + c[k]
    return y


def fraction(a):
    y = a[8]
    for k in range(7, -1, -1):
        y = a[k] + 1 / y
    return y


def products(a, axis):
    """JAX's own cumprod divides, which zeros do not bear."""
    rows = jnp.moveaxis(a, axis, 0)
    return jnp.moveaxis(jnp.stack([jnp.prod(rows[: k + 1], axis=0) for k in range(len(rows))]), 0, axis)


sums = lambda m: jnp.sum(jnp.cumsum(m, axis=1) * s) + jnp.sum(jnp.cumsum(m, axis=0) * (jnp.cumsum(m, axis=0) - m))
t.value_grad("running sum", lambda a: jnp.sum(jnp.cumsum(a) * w), a)
t.value_grad("prefixes", lambda a: jnp.sum(jnp.cumsum(a) ** 2), a)
t.value_grad("filter", lambda a, c: jnp.sum(filtered(a, c) * w), a, c)
t.value_grad("doubling", lambda a: jnp.sum(jnp.sin(jnp.cumsum(a)) * w), a)
t.value_grad("polynomial", lambda a, c: horner(a, c[1]) + horner(w, c[1]), a, c)
t.value_grad("fraction", fraction, a)
t.value_grad("library sums", sums, m)
z = m.copy()
z[1, 1] = 0
t.value_grad("library products", lambda z, m: jnp.sum(products(z, 1) * s) + jnp.sum(products(m, 0) * s), z, m)
t.value_grad("differences", lambda a: jnp.sum(jnp.diff(a, 2) * w[2:]), a)
t.write()
