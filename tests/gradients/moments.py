from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
x, y = noise(1, [8]), noise(2, [8])
a, w = noise(3, [6, 3]), noise(4, [3, 3])
t.value_grad("welford", lambda x: jnp.var(x, ddof=1), x)
t.value_grad("spread", lambda x: jnp.std(x) / jnp.mean(x), x)
t.value_grad("correlation", lambda x, y: jnp.corrcoef(x, y)[0, 1], x, y)
t.value_grad("covariances", lambda a: jnp.sum(jnp.cov(a, rowvar=False) * w), a)


def moment(a, k):
    c = a - jnp.mean(a, axis=0)
    return jnp.mean(c**k, axis=0) / jnp.mean(c * c, axis=0) ** (k / 2)


t.value_grad("skewness and kurtosis", lambda a: jnp.sum(moment(a, 3) + (moment(a, 4) - 3) * w[0]), a)
t.value_grad("standard scores", lambda x: jnp.sum((x - jnp.mean(x)) / jnp.std(x) * y), x)
t.write()
