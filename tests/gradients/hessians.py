from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
x, v = 0.5 * noise(1, [5]), noise(2, [5])
w, u, d = noise(3, [3, 4]), noise(4, [4]), noise(5, [3, 4])
rosenbrock = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
network = lambda w, u: jnp.sum(jnp.tanh(w @ u) * jnp.array([1, -2, 0.5]))
hessian = jax.hessian(rosenbrock)(x)
for name in ("forward over reverse", "reverse over reverse", "reverse over forward"):
    t.show(name, hessian @ v)
t.show("network hessian", jax.jvp(lambda w: jax.grad(network)(w, u), (w,), (d,))[1])
a, b = jax.grad(lambda w, u: jnp.sum(jax.grad(network)(w, u) * d), argnums=(0, 1))(w, u)
t.show("network mixed dw", a)
t.show("network mixed du", b)
t.show("hessian", hessian)
cubed = lambda x: x * x * x * jnp.sin(x)
for name in ("third", "third forward"):
    t.show(name, jax.grad(jax.grad(jax.grad(cubed)))(0.9))


def descended(x, rate):
    for _ in range(4):
        x = x - rate * jax.grad(rosenbrock)(x)
    return rosenbrock(x)


t.value_grad("descent", descended, x, 1e-3)
inner = jax.grad(lambda y, z: y * z * y)
t.show("apart", jax.grad(lambda z: z * inner(0.9, z))(1.7))
t.write()
