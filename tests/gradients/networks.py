from reference import Gradients, jax, noise, np, whole

jnp = jax.numpy
t = Gradients()
p = [noise(1, [4, 3]), noise(2, [4]), noise(3, [2, 4]), noise(4, [2])]
x, wanted = noise(5, [6, 3]), noise(6, [6, 2])


def misfit(p):
    y = jnp.tanh(x @ p[0].T + p[1]) @ p[2].T + p[3]
    return jnp.mean(jnp.sum((y * y - wanted) ** 2, axis=1))


value, slopes = jax.value_and_grad(misfit)(p)
t.show("perceptron", value)
for part, slope in zip(["first.w", "first.b", "w", "b"], slopes):
    t.show(f"perceptron {part}", slope)
t.exact("perceptron inputs", 0, "int")
t.exact("perceptron linear", 0, "bool")

PARTS = ["k1", "b1", "k2", "b2", "fc", "b"]
n = [noise(1, [2, 3, 3]), noise(2, [2]), noise(3, [3, 2, 2, 2]), noise(4, [3]), noise(5, [4, 3, 1, 1]), noise(6, [4])]
images, labels = noise(7, [3, 8, 8]), whole(8, [3], 4)


def maps(a, w, b):
    """Kernels over all channels: a is [c,m,n], w [k,c,x,y]."""
    y = jax.lax.conv_general_dilated(a[None], w, [1, 1], "VALID")[0]
    return y + b[:, None, None]


def halve(a):
    return (a[:, ::2, ::2] + a[:, 1::2, ::2] + a[:, ::2, 1::2] + a[:, 1::2, 1::2]) / 4


def outputs(n, image):
    s1 = halve(jax.nn.sigmoid(maps(image[None], n[0][:, None], n[1])))
    s2 = halve(jax.nn.sigmoid(maps(s1, n[2], n[3])[:, :2, :2]))
    return jax.nn.sigmoid(maps(s2, n[4], n[5])).reshape(4)


def loss(n, image, label):
    return jnp.sum((outputs(n, image) - np.eye(4)[label]) ** 2) / 2


def batch_loss(n):
    return sum(loss(n, images[k], labels[k]) for k in range(3))


value, slopes = jax.value_and_grad(batch_loss)(n)
hits = [int(jnp.argmax(outputs(n, images[k])) == labels[k]) for k in range(3)]
t.show("network", value)
t.exact("network hits", sum(hits), "int")
for part, slope in zip(PARTS, slopes):
    t.show(f"network {part}", slope)
value, slope = jax.value_and_grad(loss, argnums=1)(n, images[0], 1)
t.show("image", value)
t.exact("image hit", int(jnp.argmax(outputs(n, images[0])) == 1), "int")
t.show("image d", slope)
t.write()
