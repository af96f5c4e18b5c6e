from reference import Gradients, jax, noise

jnp, nn = jax.numpy, jax.nn
t = Gradients()
x, w = jnp.array(noise(1, [7])), jnp.array(noise(2, [7]))


def show(name, f):
    value, slopes = jax.value_and_grad(lambda x, w: jnp.sum(f(x, w)), argnums=(0, 1))(x, w)
    t.show(name, value)
    t.show(f"{name} dx", slopes[0])
    t.show(f"{name} dw", slopes[1])


def losses(x, w):
    e = jnp.abs(x - w)
    huber = jnp.where(e < 1, e * e / 2, e - 0.5)
    return jnp.mean((x - w) ** 2) + jnp.mean(e) + jnp.mean(huber) + jnp.mean(nn.softplus(-w * x))


def logits(x, w):
    target = nn.sigmoid(-w)
    return jnp.mean(jnp.maximum(x, 0) - x * target + jnp.log1p(jnp.exp(-jnp.abs(x))))


def cosine(x, w):
    return 1 - jnp.dot(x, w) / (jnp.linalg.norm(x) * jnp.linalg.norm(w))


rectified = lambda x: nn.relu(x) + nn.leaky_relu(x, 0.1) + nn.elu(x, 1.5) + nn.celu(x, 0.7) + nn.selu(x)
for name in ("logistic_by_exp", "logistic_other_way", "logistic_by_tanh"):
    show(name, lambda x, w: w * nn.sigmoid(x))
for name in ("softplus_by_log", "softplus_stable"):
    show(name, lambda x, w: w * nn.softplus(x))
show("activations", lambda x, w: w * rectified(x))
show("smooth", lambda x, w: w * (nn.silu(x) + nn.mish(x) + nn.softplus(x) + nn.soft_sign(x) + nn.sigmoid(x)))
show("gelus", lambda x, w: w * nn.gelu(x, approximate=True))
show("gelu_exact", lambda x, w: w * nn.gelu(x, approximate=False))
show("hard", lambda x, w: w * (nn.hard_sigmoid(2 * x) + nn.hard_swish(2 * x) + jnp.clip(x, 0, 1)))
show("losses", losses)
show("logits", logits)
show("divergence", lambda x, w: jnp.mean(jnp.exp(w) * (w - x)))
show("angle", lambda x, w: cosine(x, w) + jnp.sum((x - w) ** 2) / 2)
show("swish_twice", lambda x, w: nn.silu(w * nn.silu(w * x)))
t.write()
