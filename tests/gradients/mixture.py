from reference import Gradients, jax, noise, np, whole

jnp = jax.numpy
lse = jax.scipy.special.logsumexp
t = Gradients()
alpha, mean, q, l, x = noise(1, [3]), noise(2, [3, 3]), 0.5 * noise(3, [3, 3]), noise(4, [3, 3]), noise(5, [8, 3])


def mixture(alpha, mean, q, l):
    # Below the diagonal, column by column.
    rows, columns = [1, 2, 2], [0, 0, 1]
    m = jax.vmap(lambda q, l: jnp.diag(jnp.exp(q)).at[np.array(rows), np.array(columns)].set(l))(q, l)
    z = jnp.einsum("kab,nkb->nka", m, x[:, None] - mean[None])
    logs = alpha + jnp.sum(q, axis=1) - 0.5 * jnp.sum(z * z, axis=-1)
    prior = 0.5 * 0.7**2 * (jnp.sum(jnp.exp(2 * q)) + jnp.sum(l * l)) - jnp.sum(q)
    return jnp.sum(lse(logs, axis=1)) - 8 * lse(alpha) - prior


def logistic(w, b):
    z = x @ w + b
    return jnp.sum(jax.nn.softplus(z) - y * z) + 0.05 * jnp.sum(w * w)


def process(a, l, deviation):
    k = a * a * jnp.exp(-((at[:, None] - at[None]) ** 2) / (2 * l * l)) + deviation**2 * np.eye(6)
    factor = jnp.linalg.cholesky(k)
    z = jax.scipy.linalg.solve_triangular(factor, seen, lower=True)
    return -0.5 * jnp.sum(z * z) - jnp.sum(jnp.log(jnp.diag(factor))) - 3 * np.log(2 * np.pi)


t.value_grad("mixture", mixture, alpha, mean, q, l)
y, w, count = whole(6, [8], 2), noise(7, [3]), whole(8, [8], 5)
t.value_grad("logistic", logistic, w, 0.3)
t.value_grad("poisson", lambda w: jnp.sum(jnp.exp(x @ w) - count * (x @ w)), w)
at, seen = noise(9, [6]), noise(10, [6])
t.value_grad("process", process, 1.3, 0.8, 0.4)
t.write()
