from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
WIDTHS = [(1, 1), (2, 1)]


def show(name, a, b, f):
    a, b = noise(1, a), noise(2, b)
    y, back = jax.vjp(f, a, b)
    da, db = back(noise(3, y.shape))
    t.show(name, y)
    t.show(f"{name} da", da)
    t.show(f"{name} db", db)


windows = lambda a, b: sum(b[x, y] * a[x : x + 3, y : y + 2] for x in range(2) for y in range(2))
show("zeros", [3, 4], [5, 7], lambda a, b: jnp.pad(a, WIDTHS) * b)
show("fill", [3], [2], lambda a, b: jnp.concatenate([b[1:], a, b[1:], b[1:]]) * b[0])
show("edges", [3, 4], [5, 7], lambda a, b: jnp.pad(a, WIDTHS, mode="edge") * b)
show("reflected", [3, 4], [5, 7], lambda a, b: jnp.pad(a, WIDTHS, mode="reflect") * b)
show("wrapped", [3, 4], [5, 7], lambda a, b: jnp.pad(a, WIDTHS, mode="wrap") * b)
show("frame", [2, 3], [6, 7], lambda a, b: jnp.pad(a, 2) * b)
show("all_windows", [4, 3], [2, 2], windows)
show("slices", [7, 3], [3, 3], lambda a, b: a[1:7:2] * b + a[6:0:-2])
show("parts", [6, 2], [2, 2], lambda a, b: a[:2] * b + a[4:] * a[2:4])
show("block", [4, 4], [2, 3], lambda a, b: (a * a).at[1:3, 0:3].set(b * b))
show("joined", [2, 3], [2, 2], lambda a, b: jnp.concatenate([a, b], 1) * jnp.concatenate([b, a], 1))
show("replaced", [3, 4], [4], lambda a, b: (a * a).at[1].set(b).at[2, 3].set(b[0] * a[1, 1]))
show("stripes", [3, 5], [2], lambda a, b: a.at[:, 1::3].multiply(b[0]) * b[1])
show("row_twice", [3, 4], [4], lambda a, b: a.at[0].set(b + a[2]))
t.write()
