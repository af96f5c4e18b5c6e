from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def show(name, a, w, f):
    a, w = noise(1, a), noise(2, w)
    c, back = jax.vjp(f, a, w)
    da, dw = back(noise(3, c.shape))
    t.show(name, c)
    t.show(f"{name} da", da)
    t.show(f"{name} dw", dw)


def conv(stride=1, dilation=1, groups=1, pad=0):
    def f(a, w):
        d = a.ndim - 2
        return jax.lax.conv_general_dilated(
            a, w, [stride] * d, [(pad, pad)] * d, rhs_dilation=[dilation] * d, feature_group_count=groups
        )

    return f


def single(**options):
    return lambda a, w: conv(**options)(a[None, None], w[None, None])[0, 0]


def transposed(a, w):
    """Each element adds the window that it scales, two apart."""
    n, c, p, q = a.shape
    y = jnp.zeros((n, w.shape[1], 2 * p, 2 * q))
    for i in range(p):
        for j in range(q):
            cells = jnp.einsum("nc,cgxy->ngxy", a[:, :, i, j], w)
            y = y.at[:, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].add(cells)
    return y


ring = lambda a, w: sum(w[o] * jnp.roll(a, 1 - o) for o in range(3))
show("line", [8], [3], single())
show("plane", [5, 6], [3, 2], single())
show("space", [3, 4, 3], [2, 2, 2], single())
show("stride_2", [7, 8], [3, 2], single(stride=2))
show("dilation_2", [7, 6], [2, 3], single(dilation=2))
show("stride_2_dilation_3", [9, 8], [2, 2], single(stride=2, dilation=3))
show("zeros_around", [7], [5], single(pad=2))
show("ring", [7], [3], ring)
show("library", [2, 2, 4, 3], [3, 2, 2, 2], conv())
show("library_stride", [1, 2, 6, 5], [2, 2, 3, 2], conv(stride=2, pad=1))
show("library_dilation", [1, 2, 6, 6], [2, 2, 2, 2], conv(dilation=3, pad=1, stride=2))
show("library_groups", [1, 4, 4, 3], [4, 2, 2, 2], conv(groups=2, pad=1))
show("library_transposed", [1, 2, 3, 3], [2, 2, 2, 2], transposed)
t.write()
