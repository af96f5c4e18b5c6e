from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def layer(w, x):
    h = jnp.tanh(w @ x)
    for _ in range(3):
        h = jnp.tanh(h * 1.1) + 0.1 * h
    return h


def network(w, x):
    for _ in range(5):
        x = layer(w, x)
    return jnp.sum(x * x)


def countdown(n):
    def run(x):
        y = x
        for k in range(n, 0, -1):
            y = jnp.sin(y) * x + 0.01 * k
        return y

    return run


def triangle(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i + 1):
            s = jnp.sin(s + x[i] * x[j])
    return s


def heat(u, c):
    for _ in range(11):
        s = jnp.sin(jnp.concatenate([u[:1], u, u[-1:]]))
        u = u + c * (s[:-2] - 2 * s[1:-1] + s[2:])
    return u


def swung(place, k):
    speed, time = 0 * place, 0.0
    for _ in range(17):
        speed = speed - 0.1 * k * jnp.sin(place)
        place = place + 0.1 * speed
        time = time + 0.1
    return jnp.sum(place * speed) * time


w, x, a = noise(1, [4, 4]), noise(2, [4]), 0.7
t.value_grad("network", network, w, x)
t.value_grad("once", lambda w, x: jnp.sum(layer(w, x)) * jnp.sum(layer(w, 2 * x)), w, x)
for n in (0, 5, 10):
    t.value_grad(f"countdown {n}", countdown(n), a)
t.value_grad("root", jnp.sqrt, a)
t.value_grad("triangle", triangle, x)
t.show("triangle hessian", jax.grad(lambda x: jnp.sum(jax.grad(triangle)(x) * x))(x))
t.show("triangle tangent", jax.jvp(triangle, (x,), (x,))[1])
t.value_grad("heat", lambda x, a: jnp.sum(heat(x, a) * x), x, a)
t.value_grad("swung", swung, x, a)
t.write()
