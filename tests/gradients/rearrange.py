from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def show(name, a, b, f):
    a, b = noise(1, a), noise(2, b)
    y, back = jax.vjp(f, a, b)
    da, db = back(noise(3, y.shape))
    t.show(name, y)
    t.show(f"{name} da", da)
    t.show(f"{name} db", db)


def shift(a, steps, fill=0.0):
    for axis, n in enumerate(steps):
        kept = jnp.roll(a, n, axis=axis)
        at = np.arange(a.shape[axis]) - n
        inside = ((at >= 0) & (at < a.shape[axis])).reshape([-1 if k == axis else 1 for k in range(a.ndim)])
        a = jnp.where(inside, kept, fill)
    return a


def rotated(a, b):
    return jnp.roll(a, (2, 1), axis=(0, 1)) * jnp.roll(a, -3, axis=0) + a[0, 1] * b[3]


def own_partitions(a, b):
    rows = []
    for i in range(4):
        late = [a[i, j] * a[i, i] if i % 2 == 0 else b[3 - i] for j in (2, 3)]
        rows.append(jnp.stack([a[0, i] * b[i], a[1, i] * b[i]] + late))
    return jnp.stack(rows)


cat = lambda *parts: jnp.concatenate(parts, axis=0)
last = lambda *parts: jnp.concatenate(parts, axis=-1)
i4 = np.arange(4)
show("rotated", [5, 4], [4], rotated)
show("shifted", [5, 4], [4], lambda a, b: shift(a, [1, -2]) * shift(a, [1], b[2]))
show("taken", [5, 4], [4], lambda a, b: a[:3, 2:] ** 2 * b[3])
show("catenated", [3, 2], [2, 2], lambda a, b: cat(a, b, a) * cat(b, a, a))
show("catenated_last", [3, 2], [3, 1], lambda a, b: last(a, b) * last(b, a))
show("transposed", [4, 3], [3, 4], lambda a, b: a.T * b + (a * b.T).T)
show("transposed_3", [2, 3, 2], [2, 3, 2], lambda a, b: 2 * a.T * b.T)
show("reshaped", [4, 3], [2, 6], lambda a, b: a.reshape(3, 4) * b.reshape(3, 4) + a.reshape(3, 4)[1, 1])
show("reversed", [4, 3], [3], lambda a, b: a[::-1] * a[:, ::-1] + b[2])
show("tiled", [5, 4], [2, 2], lambda a, b: a[1:3, 2:4] * b * a[2:4, 1:3])
show("repeated", [3, 2], [2], lambda a, b: jnp.repeat(a, 2, axis=0) * jnp.tile(a, (2, 1)) * b[1])
show("stretched", [3, 1], [4], lambda a, b: jnp.broadcast_to(a, (3, 4)) * jnp.broadcast_to(b, (3, 4)))
show("axes_moved", [2, 3, 4], [2, 3, 4], lambda a, b: jnp.moveaxis(a, 0, 2) * b.swapaxes(0, 1).swapaxes(1, 2))
show(
    "diagonals",
    [3, 3],
    [3],
    lambda a, b: jnp.diag(b) * a + 2 * jnp.diag(jnp.diagonal(a)) + jnp.tril(a) * jnp.triu(a.T, 1),
)
show("own_partitions", [4, 4], [4], own_partitions)
show("diagonal_twice", [4, 4], [4], lambda a, b: a[i4, i4] * a[i4, 3 - i4] * b * b[0])
show("cells", [3, 4], [4], lambda a, b: jnp.stack([a[2] * b + a[0], a[1] * b + a[0], a[0] * b + a[0], b, b]))
t.write()
