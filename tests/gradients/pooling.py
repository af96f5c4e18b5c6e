from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def show(name, a, f):
    a = noise(1, a)
    c, back = jax.vjp(f, a)
    t.show(name, c)
    t.show(f"{name} da", back(noise(3, c.shape))[0])


def windows(a, k, step, pad=0, fill=0.0):
    """Windows of the last two axes, as rows."""
    a = jnp.pad(a, [(0, 0)] * (a.ndim - 2) + [(pad, pad)] * 2, constant_values=fill)
    m, n = a.shape[-2:]
    rows = [
        [a[..., i : i + k, j : j + k].reshape(*a.shape[:-2], k * k) for j in range(0, n - k + 1, step)]
        for i in range(0, m - k + 1, step)
    ]
    return jnp.stack([jnp.stack(row, axis=-2) for row in rows], axis=-3)


def means(k, step, **options):
    return lambda a: jnp.mean(windows(a, k, step, **options), axis=-1)


def maxima(k, step, **options):
    return lambda a: jnp.max(windows(a, k, step, **options), axis=-1)


def adaptive(a):
    parts = [(i * 7 // 3, -(-(i + 1) * 7 // 3)) for i in range(3)]
    return jnp.stack([jnp.mean(a[:, lo:hi], axis=1) for lo, hi in parts], axis=1)


show("means", [2, 4, 6], means(2, 2))
show("maxima", [6, 6], maxima(2, 2))
show("maxima_overlapping", [6, 7], maxima(3, 2))
show("maxima_all", [5, 5], maxima(2, 1))
show("maxima_by_pairs", [4, 6], maxima(2, 2))
show("library_means", [2, 4, 5], means(2, 2))
show("library_means_apart", [2, 5, 5], means(3, 2, pad=1))
show("library_maxima", [2, 4, 6], maxima(2, 2))
show("library_maxima_apart", [2, 5, 5], maxima(3, 2, pad=1, fill=-np.inf))
show("library_adaptive", [2, 7], adaptive)
show("library_global", [3, 4, 2], lambda a: jnp.mean(a, axis=(1, 2)) * jnp.max(a, axis=(1, 2)))
t.write()
