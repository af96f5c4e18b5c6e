"""References of parprop-networks.sac: the networks in NumPy, gradients of biases by differences."""

import numpy as np

from cases import EPS, Table, differences, noise

table = Table()


def near(name, value, kind="double"):
    value = np.asarray(value)
    table.add(name, value, kind, 4, 400 * EPS[kind] * float(np.max(np.abs(value), initial=0)))


def forward(w, b, x, f=lambda z, i: np.maximum(z, 0)):
    h, z = [], []
    for i in range(len(w)):
        z.append(w[i] @ x + b[i])
        x = f(z[-1], i)
        h.append(x)
    return np.array(h), np.array(z)


def backward(w, z, e):
    g = []
    for i in reversed(range(len(w))):
        g.insert(0, (z[i] > 0) * e)
        e = w[i].T @ g[0]
    return np.array(g)


def recurrent(w, u, b, x):
    """Arguments and layers, [layer, time]; biases may differ from time to time."""
    k, t, n = len(w), *x.shape
    b = np.broadcast_to(b if b.ndim == 3 else b[:, None], (k, t, n))
    h, z = np.zeros((k, t, n)), np.zeros((k, t, n))
    for l in range(k):
        for s in range(t):
            z[l, s] = w[l] @ (h[l - 1, s] if l else x[s]) + b[l, s] + (u[l] @ h[l, s - 1] if s else 0)
            h[l, s] = np.maximum(z[l, s], 0)
    return h, z


def layers(k, n, kind):
    w, b, x, e = noise(1, (k, n, n), kind), noise(2, (k, n), kind), noise(3, (n,), kind), noise(4, (n,), kind)
    h, z = forward(w, b, x)
    near("h", h, kind)
    near("z", z, kind)
    near("system", h, kind)
    s = forward(w, b, -x)[1] > 0
    near("other", forward(w, b, x, lambda z, i: s[i] * z)[0], kind)
    for _ in range(3):
        near("g", backward(w, z, e), kind)
    xs, es = noise(5, (3, n), kind), noise(6, (3, n), kind)
    both = [forward(w, b, x) for x in xs]
    for _ in range(3):
        near("batch", [h for h, _ in both], kind)
    for _ in range(2):
        near("gs", [backward(w, z, e) for (_, z), e in zip(both, es)], kind)


def checked(value, f, x):
    slope = differences(f, x, 1e-6)
    assert np.allclose(value, slope, rtol=1e-5, atol=1e-6 * np.max(np.abs(slope))), (value, slope)
    return value


def way_back(w, u, z, e):
    k, t, n = z.shape
    g = np.zeros((k, t, n))
    for l in reversed(range(k)):
        for s in reversed(range(t)):
            from_above = e[s] if l == k - 1 else w[l + 1].T @ g[l + 1, s]
            g[l, s] = (z[l, s] > 0) * (from_above + (u[l].T @ g[l, s + 1] if s + 1 < t else 0))
    return g


def derived(k, n):
    w, b, x, e = noise(1, (k, n, n)), noise(2, (k, n)), noise(3, (n,)), noise(4, (n,))
    near("g", checked(backward(w, forward(w, b, x)[1], e), lambda b: e @ forward(w, b, x)[0][-1], b))
    u, xs, es = noise(7, (k, n, n)), noise(5, (4, n)), noise(6, (4, n))
    g = way_back(w, u, recurrent(w, u, b, xs)[1], es)
    near("db", checked(g.sum(1), lambda b: np.sum(es * recurrent(w, u, b, xs)[0][-1]), b))


def times(k, t, n, kind):
    w, u, b = noise(1, (k, n, n), kind), 0.5 * noise(7, (k, n, n), kind), noise(2, (k, n), kind)
    x, e = noise(5, (t, n), kind), noise(6, (t, n), kind)
    h, z = recurrent(w, u, b, x)
    near("h", h, kind)
    near("z", z, kind)
    near("h", h, kind)
    near("system", h, kind)
    g = way_back(w, u, z, e)
    each = np.repeat(b[:, None], t, 1)
    if kind == "double":
        checked(g, lambda b: np.sum(e * recurrent(w, u, b, x)[0][-1]), each)
    for _ in range(2):
        near("g", g, kind)


layers(5, 3, "double")
layers(1, 2, "float")
derived(5, 3)
times(3, 4, 3, "double")
times(1, 1, 2, "float")
table.exact("none", np.zeros((0, 2)), "double")
table.exact("none", np.zeros((0, 2)), "double")
table.exact("none", np.zeros((2, 0, 1)), "double")
table.write()
