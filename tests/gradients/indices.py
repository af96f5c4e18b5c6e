from reference import Gradients, jax, noise, np, whole

jnp = jax.numpy
t = Gradients()
table, at, w, rows = noise(1, [5, 3]), whole(2, [7], 5), noise(3, [7]), noise(4, [7, 3])
bins = lambda w: jnp.zeros(5).at[at].add(w)
scattered = lambda rows: jnp.zeros((5, 3)).at[at].add(rows)


def soft_histogram(x):
    place = (x + 2) / 4 * 4
    low = jnp.floor(place).astype(int)
    share = place - low
    return jnp.zeros(6).at[low].add(1 - share).at[low + 1].add(share)


def interpolate(values, at):
    k = jnp.minimum(jnp.floor(at).astype(int), values.shape[0] - 2)
    return values[k] + (at - k) * (values[k + 1] - values[k])


def segments(rows):
    return jnp.stack([rows[0:2].sum(0), jnp.zeros(3), rows[2:5].sum(0), rows[5:].sum(0)])


t.value_grad("table", lambda a, r: jnp.sum(a[at] * r * r), table, rows)
t.value_grad("library table", lambda a: jnp.sum(a[at] * rows) + jnp.sum((a * a)[at]), table)
t.value_grad("bins", lambda w: jnp.sum(jnp.sin(bins(w))), w)
t.value_grad("library bins", lambda w: jnp.sum(jnp.sin(bins(w))), w)
t.value_grad("soft histogram", lambda w: jnp.sum(soft_histogram(w) ** 2), w)
t.value_grad("scattered", lambda r: jnp.sum(scattered(r) * table), rows)
t.value_grad("scatter add", lambda r, a: jnp.sum(jnp.exp(a.at[at].add(r))), rows, table)
place = np.array([3, 0, 4, 1, 2])
t.value_grad("permuted", lambda a: jnp.sum(jnp.zeros((5, 3)).at[place].set(a) * a), table)
at2 = np.array([[4, 1, 1], [0, 1, 3]])
t.value_grad("along an axis", lambda a: jnp.sum(jnp.take_along_axis(a, at2, axis=0) * rows[:2]), table)
t.value_grad("elements", lambda a: jnp.sum(a[np.array([4, 1, 4]), np.array([0, 2, 0])] * w[:3]), table)
t.value_grad("segments", lambda r: jnp.sum(jnp.cos(segments(r))), rows)
places = np.abs(w) * 1.9
t.value_grad("interpolated", lambda a, x: jnp.sum(jnp.sin(interpolate(a[:, 1], x))), table, places)
t.write()
