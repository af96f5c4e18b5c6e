from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
a, w, u, speed = noise(1, [5, 6]), noise(2, [5, 6]), noise(3, [8]), abs(noise(4, [8]))
e, f = noise(5, [4, 6]), noise(6, [4, 6])


def relax(a):
    for _ in range(4):
        a = a.at[1:-1, 1:-1].set((a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4)
    return a


def gauss_seidel(a, w):
    for i in range(1, 4):
        for j in range(1, 5):
            around = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            a = a.at[i, j].set((1 - w) * a[i, j] + w / 4 * around)
    return a


def wave(u, speed):
    before = u
    for _ in range(6):
        u, before = 2 * u - before + 0.1 * speed * (jnp.roll(u, 1) + jnp.roll(u, -1) - 2 * u), u
    return u


def haar(a):
    rows = jnp.concatenate([a[::2] + a[1::2], a[::2] - a[1::2]]) / 2
    return jnp.concatenate([rows[:, ::2] + rows[:, 1::2], rows[:, ::2] - rows[:, 1::2]], axis=1) / 2


def weave(e, f):
    return jnp.stack([e[0] + e[1], e[0] - e[1]], axis=1).reshape(12) * f[:2].reshape(12)


def medians(a):
    middle = jnp.median(jnp.stack([a[:-2], a[1:-1], a[2:]]), axis=0)
    return jnp.concatenate([a[:1], middle, a[-1:]])


def variation(a):
    down, right = a[1:, :-1] - a[:-1, :-1], a[:-1, 1:] - a[:-1, :-1]
    return jnp.sum(jnp.sqrt(down * down + right * right + 1e-3))


a, e = jnp.array(a), jnp.array(e)
t.value_grad("relaxation", lambda a: jnp.sum(relax(a) * w), a)
t.value_grad("in place", lambda a, r: jnp.sum(gauss_seidel(gauss_seidel(a, r), r) * w), a, 1.3)
t.value_grad("wave", lambda u, s: jnp.sum(wave(u, s) ** 2), u, speed)
t.value_grad("haar", lambda e: jnp.sum(haar(e) ** 2 * f), e)
t.value_grad("weave", lambda e, f: jnp.sum(weave(e, f)), e, f)
t.value_grad("medians", lambda u: jnp.sum(medians(u) * speed), u)
t.value_grad("variation", variation, a)
t.write()
