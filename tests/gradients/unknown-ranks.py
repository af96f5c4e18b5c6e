from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def steps(x, y):
    for _ in range(5):
        x = jnp.sin(x) * y + 0.1 * x
    return jnp.sum(x * y)


def growing(x):
    for _ in range(2):
        x = jnp.sin(jnp.stack([x * x, x * x]))
    return jnp.sum(x)


def until(x):
    s, k, x = 0.0, 0, x + 0.5
    while s < 3 and k < 20:
        x = x * x + 0.3 * x
        s = s + jnp.sum(x * x)
        k += 1
    return s


def product(x):
    return jnp.sum(jnp.sin(x) * x * y)


x, y = noise(1, [4]), noise(2, [4])
t.value_grad("steps", steps, x, y)
t.value_grad("growing", growing, x)
t.value_grad("until", until, x)
t.show("second", jax.grad(lambda x: jnp.sum(jax.grad(product)(x) * y))(x))
t.write()
