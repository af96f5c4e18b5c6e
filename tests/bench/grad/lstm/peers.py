"""LSTM cells with diagonal weights: a scan over characters in JAX, loops in PyTorch."""
import numpy as np
from data import digest, spread, whole


def given(l, c, b):
    return (spread((2 * l, 4 * b), 1, "f8") + 0.5, spread((3, b), 2, "f8") + 0.5, spread((2 * l, b), 3, "f8") + 0.5,
            whole((c, b), 4, 2).astype("f8"))


def flat(gradients):
    return digest(np.concatenate([np.asarray(g).ravel() for g in gradients]))


def jax(what, l, c, b):
    import jax
    import jax.numpy as jnp

    given_arrays = [jnp.asarray(a) for a in given(l, c, b)]

    def loss(weights, extra, state, text):
        def step(state, pair):
            x, gold = pair
            y, rows = x * extra[0], []
            for i in range(0, 2 * l, 2):
                hidden, memory, (w, bias) = state[i], state[i + 1], (weights[i], weights[i + 1])
                z = jnp.concatenate([y, hidden, y, hidden]) * w + bias
                s = jax.nn.sigmoid(z[: 3 * b])
                memory = memory * s[:b] + s[b : 2 * b] * jnp.tanh(z[3 * b :])
                y = s[2 * b :] * jnp.tanh(memory)
                rows += [y, memory]
            y = y * extra[1] + extra[2]
            return jnp.stack(rows), jnp.sum(gold * (y - jnp.log(2 + jnp.sum(jnp.exp(y)))))

        return -jax.lax.scan(step, state, (text[:-1], text[1:]))[1].sum() / ((c - 1) * b)

    f = jax.jit(loss if what == "objective" else jax.grad(loss, (0, 1)))
    if what == "objective":
        return lambda: f(*given_arrays).block_until_ready(), digest
    return lambda: jax.block_until_ready(f(*given_arrays)), flat


def torch(what, l, c, b):
    import torch

    weights, extra, state, text = map(torch.from_numpy, given(l, c, b))
    of = [a.requires_grad_(what == "gradient") for a in (weights, extra)]

    def loss():
        rows, total = list(state), 0.0
        for t in range(c - 1):
            y = text[t] * extra[0]
            for i in range(0, 2 * l, 2):
                z = torch.cat([y, rows[i], y, rows[i]]) * weights[i] + weights[i + 1]
                s = torch.sigmoid(z[: 3 * b])
                rows[i + 1] = rows[i + 1] * s[:b] + s[b : 2 * b] * torch.tanh(z[3 * b :])
                rows[i] = y = s[2 * b :] * torch.tanh(rows[i + 1])
            y = y * extra[1] + extra[2]
            total = total + (text[t + 1] * (y - torch.log(2 + torch.exp(y).sum()))).sum()
        return -total / ((c - 1) * b)

    if what == "objective":
        return loss, digest
    return lambda: torch.autograd.grad(loss(), of), flat
