from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def refined(step, x, *p):
    """A fixed point of Newton's steps and its derivative: one step from the solution, whose own slope does not count."""
    still = jax.lax.stop_gradient(p)
    x = jax.lax.fori_loop(0, 60, lambda _, x: step(x, *still), x)
    return step(jax.lax.stop_gradient(x), *p)


def newton(f):
    def step(x, *p):
        x0 = jax.lax.stop_gradient(x)
        j = jax.lax.stop_gradient(jax.jacobian(f)(x0, *p))
        return x0 - (jnp.linalg.solve(j, f(x0, *p)) if jnp.ndim(x0) else f(x0, *p) / j)

    return step


root = lambda a: refined(newton(lambda x, a: x**3 - a), 1.0, a)
anomaly = lambda m, e: refined(newton(lambda x, m, e: x - e * jnp.sin(x) - m), 1.1, m, e)
fixed = lambda a: refined(newton(lambda x, a: x - jnp.cos(a * x)), 0.8, a)


def both(x, p):
    return jnp.stack([x[0] ** 2 + x[1] ** 2 - p[0], p[1] * x[0] - p[2] * jnp.sin(x[1])])


def escape(x, c):
    k = 0
    while abs(x) < 2 and k < 12:
        x = x * x + c
        k += 1
    return x / (k + 1)


def halved(x):
    while x > 1:
        x = x / 2
    return x * x


x, c = noise(1, [6]), noise(2, [6])
t.value_grad("cube root", lambda a: root(a) ** 2, 5.3)
t.value_grad("kepler", anomaly, 1.1, 0.6)
crossing = lambda p: refined(newton(both), jnp.array([1.0, 1.0]), p)
t.value_grad("crossing", lambda p: jnp.sum(crossing(p) * np.array([1.0, 2.0])), jnp.array([2.3, 0.9, 1.2]))
t.value_grad("fixed point", fixed, 0.6)
t.value_grad("series", lambda x: jnp.sum(jnp.exp(x)), x)
t.value_grad("orbits", lambda x, c: sum(escape(x[i], c[i]) for i in range(6)), x, c)
t.value_grad("halved", lambda x: sum(halved(4 * x[i]) for i in range(6)), x)
t.write()
