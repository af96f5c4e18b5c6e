from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def show(name, x, c, f):
    x, scale, shift = noise(1, x), noise(2, c), noise(3, c)
    y, back = jax.vjp(f, x, scale, shift)
    t.show(name, y)
    for part, value in zip(("dx", "dscale", "dshift"), back(noise(4, y.shape))):
        t.show(f"{name} {part}", value)


def normal(x, axes, eps):
    return (x - jnp.mean(x, axis=axes, keepdims=True)) / jnp.sqrt(jnp.var(x, axis=axes, keepdims=True) + eps)


def channels(v, x):
    return v.reshape([1, -1] + [1] * (x.ndim - 2))


def by_channel(axes, eps):
    return lambda x, a, b: channels(a, x) * normal(x, axes, eps) + channels(b, x)


def groups(x, a, b):
    parts = normal(x.reshape(2, 2, 2, 3), (2, 3), 1e-5).reshape(2, 4, 3)
    return channels(a, x) * parts + channels(b, x)


rms = lambda x, a, eps: a * x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)
show("columns", [5, 3], [3], lambda x, a, b: a * normal(x, 0, 1e-5) + b)
show("library_batch", [3, 2, 2, 2], [2], by_channel((0, 2, 3), 1e-5))
show("library_each", [4, 3], [3], lambda x, a, b: a * normal(x, 0, 1e-3) + b)
show("library_layer", [3, 4], [4], lambda x, a, b: a * normal(x, 1, 1e-5) + b)
show("library_groups", [2, 4, 3], [4], groups)
show("library_instance", [2, 3, 4], [3], by_channel((2,), 1e-5))
show("library_rms", [3, 4], [4], lambda x, a, b: rms(x, a, 1e-5) + rms(x, b, 1e-3))
t.write()
