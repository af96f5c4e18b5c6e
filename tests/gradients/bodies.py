from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()
x, mass, v = noise(1, [5, 3]), abs(noise(2, [5])) + 0.1, noise(3, [5, 3])
I, J = np.triu_indices(5, 1)
squares = lambda x: jnp.sum((x[I] - x[J]) ** 2, axis=1)
energy = lambda x, m: -jnp.sum(m[I] * m[J] / jnp.sqrt(squares(x) + 1e-2))


def gas(x):
    r = squares(x)
    s = 1 / r**3
    return jnp.sum(jnp.where(r < 9, s * s - s, 0))


def accelerations(x, m):
    d = x[None] - x[:, None]
    return jnp.sum(m[None, :, None] * d / (jnp.sum(d * d, axis=-1, keepdims=True) + 1e-2) ** 1.5, axis=1)


def distance_after(x, v):
    for _ in range(3):
        v = v - 0.05 * jax.grad(energy)(x, mass) / mass[:, None]
        x = x + 0.05 * v
    return jnp.sum(x * x)


t.value_grad("energy", energy, x, mass)
t.value_grad("by loops", energy, x, mass)
t.value_grad("gas", gas, x)
t.value_grad("accelerations", lambda x, m: jnp.sum(accelerations(x, m) * v), x, mass)
t.value_grad("way", distance_after, x, v)
t.write()
