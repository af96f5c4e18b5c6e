from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def show(name, f, a, b):
    a, b = noise(1, a), noise(2, b)
    c, back = jax.vjp(f, a, b)
    da, db = back(noise(3, c.shape))
    t.show(name, c)
    t.show(f"{name} da", da)
    t.show(f"{name} db", db)


show("plain", jnp.matmul, [3, 4], [4, 5])
show("left", lambda a, b: a.T @ b, [4, 3], [4, 5])
show("right", lambda a, b: a @ b.T, [3, 4], [5, 4])
show("both", lambda a, b: a.T @ b.T, [4, 3], [5, 4])
show("loops", jnp.matmul, [3, 4], [4, 5])
show("batches", jnp.matmul, [2, 3, 4], [2, 4, 2])
show("library", jnp.matmul, [3, 4], [4, 5])
show("library_batches", jnp.matmul, [2, 3, 4], [2, 4, 2])
show("library_vector", jnp.matmul, [3, 4], [4])
show("outer_product", jnp.outer, [4], [5])
show("kronecker", jnp.kron, [2, 2], [2, 3])
a, x = noise(1, [4, 4]), noise(2, [4])
t.value_grad("form and trace", lambda a, x: (x @ a @ x) * jnp.trace(a @ a), a, x)
t.value_grad("chain", lambda a: jnp.sum((a @ a @ a.T) * a), a)
t.value_grad("fifth power", lambda a: jnp.sum(a @ a @ a @ a @ a), a)
t.write()
