from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
a, w, p, c = noise(1, [4, 3]), noise(2, [4, 3]), noise(3, [4, 4]), noise(4, [4, 4])


def power_iteration(a):
    x = jnp.ones(4)
    for _ in range(25):
        y = a @ x
        length = jnp.linalg.norm(y)
        x = y / length
    return length


def gram_schmidt(a):
    q = []
    for j in range(3):
        column = a[:, j]
        for k in range(j):
            column = column - jnp.dot(column, q[k]) * q[k]
        q.append(column / jnp.linalg.norm(column))
    return jnp.stack(q, axis=1)


def factors(a):
    q, r = jnp.linalg.qr(a)
    return jnp.sum(q * q * w) + jnp.sum(r * r * w[:3])


def series(a):
    term = total = jnp.eye(4)
    for k in range(1, 18):
        term = term @ a / k
        total = total + term
    return total


t.value_grad("power iteration", lambda p: power_iteration(p * p + 0.5), p)
t.value_grad("gram schmidt", lambda a: jnp.sum(gram_schmidt(a) * w), a)
# Squares of elements: the signs of columns are a choice.
t.value_grad("library factors", factors, a)
t.value_grad("series", lambda p: jnp.sum(series(0.3 * p) * c), p)
t.value_grad("library exponential", lambda p: jnp.sum(jax.scipy.linalg.expm(0.3 * p) * c), p)
t.write()
