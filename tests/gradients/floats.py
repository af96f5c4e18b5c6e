from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


def inputs(seed, shape):
    return noise(seed, shape, "float")


x, w = inputs(1, [6]), inputs(2, [6])
t.value_grad("softmax", lambda x, w: jnp.sum(jax.nn.softmax(x) * w), x, w, kind="float")
misfit = lambda m, b: jnp.sum((jax.nn.sigmoid(m @ x[:3] + b) - w[:4]) ** 2)
value, (dw, db) = jax.value_and_grad(misfit, argnums=(0, 1))(inputs(3, [4, 3]), inputs(4, [4]))
t.show("layer", value, "float")
t.show("layer dw", dw, "float")
t.show("layer db", db, "float")
conv = lambda a, k: jax.lax.conv_general_dilated(a[None, None], k[None, None], [1, 1], "VALID")[0, 0]
da, dk = jax.vjp(conv, inputs(5, [5, 5]), inputs(6, [3, 2]))[1](inputs(7, [3, 4]))
t.show("conv d0", da, "float")
t.show("conv d1", dk, "float")
t.value_grad("mixed", lambda x: jnp.sum(x * x * jnp.exp(-x)) + jnp.sum(x), x, kind="float")


def orbit(x):
    for _ in range(12):
        x = x + 0.1 * jnp.sin(x) * x
    return x


# 0.8f and 0.1f are not 0.8 and 0.1: floats bear that.
t.value_grad("orbit", orbit, 0.8, kind="float")
t.show("tangent", jax.jvp(jax.nn.softmax, (x,), (w,))[1], "float")
t.write()
