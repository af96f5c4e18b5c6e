from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
x, centre = noise(1, [10, 2]), noise(2, [4, 2])
distances = lambda x, c: jnp.sum((x[:, None] - c[None]) ** 2, axis=-1)
cost = lambda x, c: jnp.sum(jnp.min(distances(x, c), axis=1))

t.value_grad("cost", cost, x, centre)
t.value_grad("cost by loop", cost, x, centre)
near = np.argmin(distances(x, centre), axis=1)
count = np.maximum(np.bincount(near, minlength=4), 1)
means = lambda x: jnp.zeros((4, 2)).at[near].add(x) / count[:, None]
t.value_grad("cost of means", lambda x: cost(x, means(x)), x)
soft = lambda x, c, s: -jnp.sum(jax.scipy.special.logsumexp(-s * distances(x, c), axis=1)) / s
t.value_grad("soft cost", soft, x, centre, 2.5)
t.show("curvature", jax.jvp(lambda c: jax.grad(cost, argnums=1)(x, c), (centre,), (centre,))[1])
t.write()
