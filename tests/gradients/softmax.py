from reference import Gradients, jax, noise, np

jnp = jax.numpy
lse = jax.scipy.special.logsumexp
t = Gradients()
x, w = noise(1, [6]), noise(2, [6])
a, c = noise(3, [3, 5]), noise(4, [3, 5])
t.value_grad("log of sum", lse, x)
t.value_grad("log of a large sum", lambda x: lse(300 * x), x)
t.value_grad("softmax", lambda x, w: jnp.sum(jax.nn.softmax(x) * w), x, w)
t.value_grad("entropy", lambda x: -jnp.sum(jax.nn.softmax(x) * jax.nn.log_softmax(x)), x)
t.value_grad("rows", lambda a: jnp.sum(lse(a, axis=1) * jnp.arange(1.0, 4.0)), a)
t.value_grad("library softmax", lambda a, c: jnp.sum(jax.nn.softmax(a, axis=-1) * c), a, c)
t.value_grad("library log softmax", lambda a, c: jnp.sum(jax.nn.log_softmax(a, axis=0) * c), a, c)
label = np.array([4, 0, 2])
t.value_grad("cross entropy", lambda a: -jnp.mean(jax.nn.log_softmax(3 * a)[np.arange(3), label]), a)
running = lambda a: jnp.stack([lse(a[:, : j + 1], axis=1) for j in range(5)], axis=1)
t.value_grad("running log of sums", lambda a, c: jnp.sum(running(a) * c), a, c)
t.write()
