from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def pairwise(x):
    n = len(x)
    return jnp.sin(x[0]) if n == 1 else pairwise(x[: n // 2]) * pairwise(x[n // 2 :]) + x[0]


def until_small(x):
    return x * x if x < 0.1 else until_small(x * 0.6) + 0.5 * x


def even_part(x, n):
    return 1.0 if n == 0 else odd_part(x, n - 1) * x + 1


def odd_part(x, n):
    return x if n == 0 else even_part(x * 0.9, n - 1) - x


x = noise(2, [7])
t.value_grad("determinant", jnp.linalg.det, noise(1, [4, 4]))
t.value_grad("halves", pairwise, x)
t.value_grad("power", lambda y: y**13 + y**12, 1.1)
t.value_grad("until small", lambda p: sum(until_small(p[i]) for i in range(7)), abs(x) + 0.05)
t.value_grad("two", lambda y: even_part(y, 6), 1.1)
t.write()
