from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
a, w, x, y = (jnp.array(v) for v in (noise(1, [5, 6]), noise(2, [5, 6]), noise(3, [7]) + 3, noise(4, [7])))
m, n, l = 5, 6, 7
i, j, k = jnp.arange(m)[:, None], jnp.arange(n)[None, :], jnp.arange(l)


def wrapped(a, w):
    return jnp.sum(w * jnp.tanh(a[(i + 1) % m, j] * a[i, (j - 2) % n] + a[(i - 1) % m, (j + 1) % n]))


def floored(x, y):
    return jnp.sum(y * x[(k - 2) % l] * jnp.exp(x))


def clamped(a, w):
    return jnp.sum(w * jnp.sin(a[jnp.maximum(i - 1, 0), jnp.minimum(j + 2, n - 1)] * a))


def reflected(x, y):
    k = jnp.arange(l - 2)
    return jnp.sum(y[:-2] * x[abs(k - 2)] * x[l - 1 - abs(l - 1 - (k + 2))])


def chosen(x, y):
    return jnp.sum(y * jnp.roll(x, 1) * jnp.roll(x, -1))


def step(a):
    return jnp.tanh(
        a[(i + 1) % m, j] + a[(i - 1) % m, j] - 0.5 * a[i, jnp.maximum(j - 1, 0)] + a[i, jnp.minimum(j + 1, n - 1)]
    )


def steps(a, w, count):
    for _ in range(count):
        a = step(a)
    return jnp.sum(a * w)


def windows(x, y):
    return jnp.sum(y * jnp.sqrt(x**2 + jnp.roll(x, -1) ** 2 + jnp.roll(x, -2) ** 2))


def far(x, shift):
    return jnp.sum((k + 1) * x[(k * 3 + shift) % l])


t.show("wrapped d0", jax.grad(wrapped)(a, w))
t.show("floored d0", jax.grad(floored)(x, y))
t.show("clamped d0", jax.grad(clamped)(a, w))
t.show("reflected d0", jax.grad(reflected)(x, y))
t.show("chosen d0", jax.grad(chosen)(x, y))
t.show("steps d0", jax.grad(steps)(a, w, 3))
t.show("windows d0", jax.grad(windows)(x, y))
t.show("far d0", jax.grad(far)(x, 4))
t.show("steps twice d0", jax.grad(lambda a: jnp.sum(jax.grad(steps)(a, w, 2) * w))(a))
t.write()
