from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def slope(w, s):
    return jnp.stack([s[1], -w[0] / w[1] * jnp.sin(s[0]) - w[2] * s[1]])


def repeat(n, step, state):
    """A loop that JAX does not unroll."""
    return jax.lax.scan(lambda s, k: (step(s, k), None), state, jnp.arange(n))[0]


def miss(w, s):
    h = w[3]

    def step(s, _):
        k1 = slope(w, s)
        k2 = slope(w, s + h / 2 * k1)
        k3 = slope(w, s + h / 2 * k2)
        k4 = slope(w, s + h * k3)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    s = repeat(30, step, s)
    return (s[0] - 0.3) ** 2 + s[1] ** 2 / 10


def forces(x, stiffness):
    around = jnp.pad(x, 1)
    return stiffness * (around[2:] + around[:-2] - 2 * x) - 0.1 * x**3


def springs(x, v, stiffness):
    h = 0.05

    def step(state, _):
        x, v, a = state
        x = x + h * v + h * h / 2 * a
        b = forces(x, stiffness)
        return x, v + h / 2 * (a + b), b

    x, v, _ = repeat(25, step, (x, v, forces(x, stiffness)))
    return jnp.sum(x * x) + jnp.sum(v**3)


def lotka(rate, y):
    def step(state, k):
        y, e = state
        y = y + 0.02 * jnp.stack([y[0] * (rate[0] - rate[1] * y[1]), y[1] * (rate[2] * y[0] - rate[3])])
        return y, e + jnp.log(y[0]) * (k % 3) + jnp.sqrt(y[1])

    return repeat(40, step, (y, 0.0))[1]


w, s = jnp.array([9.81, 1.5, 0.2, 0.05]), jnp.array([1.2, -0.4])
value, (dw, ds) = jax.value_and_grad(miss, argnums=(0, 1))(w, s)
t.show("pendulum", value)
t.show("pendulum world", dw)
t.exact("pendulum steps", 0, "int")
t.show("pendulum state", ds)
t.value_grad("springs", springs, noise(1, [5]), noise(2, [5]), 3.0)
t.value_grad("prey", lotka, abs(noise(3, [4])) + 0.5, jnp.array([1.5, 0.7]))
t.write()
