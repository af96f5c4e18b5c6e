from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
hold = jax.lax.stop_gradient
w, a, b = noise(1, [4]), noise(2, [4]), noise(3, [4])
t.value_grad("held", lambda x, y: hold(x * y) * x + jnp.sin(hold(y)) * y, 0.7, 1.9)
t.show("computed before", 0.7 * 0.7)
t.show("one of two", 2 * 0.7 * 0.7 * 1.9)


def target_loss(w, a, b):
    return (jnp.sum(w * a) - hold(0.9 * jnp.sum(w * b) + 1)) ** 2


t.value_grad("target", lambda w, a, b: target_loss(w, a, b) + jnp.sum(b), w, a, b)
t.value_grad("straight through", lambda w: jnp.sum((3 * w + hold(jnp.rint(3 * w) - 3 * w)) * a), w)
t.show("held array", w)
t.exact("held number", 3, "int")
t.value_grad("indices", lambda w: jnp.sum(w * w[::-1] * np.trunc(2 * a)), w)
t.write()
