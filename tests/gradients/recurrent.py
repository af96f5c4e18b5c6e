from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
w, r, b = 0.5 * noise(1, [16, 3]), 0.5 * noise(2, [16, 4]), 0.5 * noise(3, [16])
x, wanted, h, c = noise(4, [5, 3]), noise(5, [5, 4]), noise(6, [4]), noise(7, [4])


def outputs(w, r, b, x, h, c):
    rows = []
    for step in range(5):
        i, f, g, o = jnp.split(w @ x[step] + r @ h + b, 4)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        rows.append(h)
    return jnp.stack(rows)


loss = lambda *p: jnp.sum((outputs(*p) - wanted) ** 2)
value, slopes = jax.value_and_grad(loss, argnums=range(6))(w, r, b, x, h, c)
t.show("written", value)
for part, slope in zip(["dw", "dr", "db"], slopes):
    t.show(f"written {part}", slope)
t.exact("written steps", 0, "int")
for part, slope in zip(["dx", "dh", "dc"], slopes[3:]):
    t.show(f"written {part}", slope)
t.show("fields dw", slopes[0])
t.show("fields db", slopes[2])
weighted = lambda w, r, b: jnp.sum(outputs(w, r, b, x, h, c) * wanted)
value, slopes = jax.value_and_grad(weighted, argnums=range(3))(w, r, b)
t.show("library", value)
for part, slope in zip(["dw", "dr", "db"], slopes):
    t.show(f"library {part}", slope)
t.write()
