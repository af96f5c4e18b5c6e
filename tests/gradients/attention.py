from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def show(name, q, k, v, f):
    q, k, v = noise(1, q), noise(2, k), noise(3, v)
    y, back = jax.vjp(f, q, k, v)
    t.show(name, y)
    for part, value in zip(("dq", "dk", "dv"), back(noise(4, y.shape))):
        t.show(f"{name} {part}", value)


def attend(q, k, v, causal=False):
    scores = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = jnp.where(np.tri(q.shape[-2], dtype=bool), scores, -np.inf)
    return jax.nn.softmax(scores, axis=-1) @ v


def heads(x, w, o):
    """Rows of w: queries, keys, values, each with its heads one after the other."""
    parts = (x @ w.T).reshape(3, 3, 2, 2).transpose(1, 2, 0, 3)
    y = attend(parts[0], parts[1], parts[2])
    return y.transpose(1, 0, 2).reshape(3, 4) @ o.T


causal = lambda q, k, v: attend(q, k, v, causal=True)
show("written", [3, 4], [5, 4], [5, 2], attend)
show("causal", [4, 3], [4, 3], [4, 2], causal)
show("library", [2, 3, 4], [2, 5, 4], [2, 5, 2], attend)
show("library_causal", [4, 3], [4, 3], [4, 2], causal)
show("heads", [3, 4], [12, 4], [2, 4], heads)
t.write()
