from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
smooth_length = lambda a: jnp.sqrt(jnp.sum(a * a) + 1)
weighted = lambda a, b: jnp.sum(jnp.sin(a) * b) / smooth_length(b)
a, b = noise(1, [2, 3, 2]), noise(2, [2, 3, 2])


def moving(x, w):
    windows = jnp.correlate(x, w, mode="valid")
    return jnp.sum(windows * 0.5) * jnp.sum(x[0:6:2] * x[1:6:2])


def moves(p):
    return jnp.sum(jnp.roll(p, 1, axis=0) * p) + jnp.sum(p.T * p.reshape(3, 2))


t.value_grad("any rank", weighted, a, b)
t.value_grad("folds", lambda a: jnp.max(a) * jnp.prod(a + 3), a)
t.value_grad("scalar", lambda s: weighted(s, s * s), 0.7)
t.value_grad("steps", lambda m: jnp.sum((m[1:] - m[:-1]) ** 2), noise(4, [4, 2]))
t.value_grad("vectors", moving, noise(5, [7]), noise(6, [3]))
t.value_grad("softmax", lambda x: jnp.sum(jax.nn.softmax(x) * x), noise(5, [7]))
p, q = noise(7, [2, 3]), noise(8, [3, 4])
dp, dq = jax.vjp(jnp.matmul, p, q)[1](noise(9, [2, 4]))
t.show("matrices d0", dp)
t.show("matrices d1", dq)
t.value_grad("moves", moves, p)
t.value_grad("empty", smooth_length, noise(10, [0, 3]))
t.write()
