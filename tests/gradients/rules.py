from reference import Gradients, jax, noise, np

jnp = jax.numpy
triangular = jax.scipy.linalg.solve_triangular
t = Gradients()


def grads(name, f, *x, **options):
    """`NAME d0`, .. are the gradients in the order of the arguments."""
    for at, slope in enumerate(jax.grad(f, argnums=tuple(range(len(x))))(*x)):
        t.show(f"{name} d{at}", slope, **options)


def along(f, x, tangent):
    """The change of a gradient."""
    return jax.jvp(jax.grad(f), (x,), (tangent,))[1]


v, w, a, c = noise(1, [9]), noise(2, [9]), noise(3, [4, 3]), noise(4, [4, 3])
parts = np.array([0.1, 0.45, 0.77])
# Places do not depend on values, and the gradient ought not to go through them.
places = lambda x, axis=-1: jax.lax.stop_gradient(jnp.argsort(x, axis=axis, stable=True))
greatest = lambda x: jnp.sort(x, axis=-1)[..., ::-1]


def best(k, x):
    at = jax.lax.stop_gradient(jnp.argsort(-x, stable=True))[:k]
    return jnp.sum(x[at] ** 2 * w[:k] * at)


def quantile_of(p, x):
    """Not JAX's own, which has no gradient by p through its rounding."""
    x = jnp.sort(x, axis=-1)
    n = x.shape[-1]
    k = int(np.floor(float(jax.lax.stop_gradient(p)) * (n - 1)))
    part = p * (n - 1) - k
    return x[..., k] * (1 - part) + x[..., min(k + 1, n - 1)] * part


grads("sort", lambda v: jnp.sum(jnp.sort(v) ** 2 * w), v)
grads("sort with places", lambda v: jnp.sum(jnp.sort(v) ** 2 * w * places(v)), v)
grads("sort along 0", lambda a: jnp.sum(jnp.sort(a, axis=0) * c), a)
grads("sort along 1", lambda a: jnp.sum(jnp.sort(a, axis=1) * c), a)
grads("sort along with places", lambda a: jnp.sum(jnp.sort(a, axis=0) ** 2 * c * places(a, 0)), a)
grads("descending", lambda v: jnp.sum(greatest(v) * w), v)
grads("descending along", lambda a: jnp.sum(greatest(a) * c), a)
grads("topk", lambda v: best(4, v), v)
grads("topk of many", lambda x: best(3, x), noise(5, [70]))
grads("kth", lambda v: jnp.sort(v)[6] * jnp.sort(v)[2], v)
grads("median", lambda v, a: jnp.median(v) * jnp.median(a), v, a)
grads("median along", lambda a: jnp.sum(jnp.median(a, axis=0) * c[1]), a)
p = np.float64(0.37)
t.show("quantile d0", jax.grad(lambda v: quantile_of(p, v))(v))
ordered = np.sort(v)
slope = lambda p: 8 * (ordered[int(p * 8) + 1] - ordered[int(p * 8)])
t.show("quantile d1", slope(p))
grads("quantile along", lambda a: jnp.sum(quantile_of(p, a) * c[:, 0]), a)
t.show("quantiles d0", jax.grad(lambda v: sum(quantile_of(p, v) * by for p, by in zip(parts, c[2])))(v))
t.show("quantiles d1", np.array([slope(p) * by for p, by in zip(parts, c[2])]))
t.show("sort twice", along(lambda v: jnp.sum(jnp.sort(v) ** 3 * w), v, w))

one, none = noise(6, [1]), noise(6, [0])
t.show("sort one", 2 * one)
t.show("sort none", none)
t.show("median one", np.ones(1))

m, b, s, q = noise(7, [5, 5]), noise(8, [5]), noise(9, [5]), noise(10, [5, 5])
many, u = noise(11, [5, 3]), noise(12, [5, 3])
batch, sides = noise(13, [2, 3, 3]), noise(14, [2, 3, 2])
grads("solve", lambda m, b: jnp.sum(jnp.linalg.solve(m, b) * s), m, b)
grads("solve many", lambda m, x: jnp.sum(jnp.linalg.solve(m, x) * u), m, many)
d = jax.grad(lambda m, x, s: jnp.sum(jnp.linalg.solve(m, x) * s), argnums=(0, 1, 2))(batch, sides, sides)
t.show("solve batch d0", d[0])
t.show("solve batch d1", d[1] + d[2])
grads("inverse", lambda m: jnp.sum(jnp.linalg.inv(m) * q), m)
grads("inverse batch", lambda m: jnp.sum(jnp.linalg.inv(m) * m), batch)
grads("determinant", jnp.linalg.det, m)
grads("determinant batch", lambda m: jnp.sum(jnp.linalg.det(m) * jnp.array([2.0, 3.0])), batch)
flat = m[:4, :4] * np.array([1, 0, 1, 1])
minor = lambda x, i, j: np.delete(np.delete(x, i, 0), j, 1)
t.show("singular determinant d0", [[(-1) ** (i + j) * np.linalg.det(minor(flat, i, j)) for j in range(4)] for i in range(4)])
t.add("determinant of rank 1 d0", np.zeros((3, 3)), "double", absolute=1e-12)
grads("log of the determinant", lambda m: jnp.linalg.slogdet(m)[0] * jnp.linalg.slogdet(m)[1], m)

eye = np.eye(5)
lower = lambda m: jnp.tril(m + 6 * eye)
upper = lambda m: jnp.triu(m + 6 * eye)
unit = lambda m: jnp.tril(m, -1) + eye
for name, f in {
    "lower": lambda m, x: triangular(lower(m), x, lower=True),
    "upper": lambda m, x: triangular(upper(m), x, lower=False),
    "unit": lambda m, x: triangular(unit(m), x, lower=True),
    "transposed": lambda m, x: triangular(lower(m), x, lower=True, trans="T"),
}.items():
    grads(name, lambda m, x: jnp.sum(f(m, x) * s), m, b)
    grads(f"{name} many", lambda m, x: jnp.sum(f(m, x) * u), m, many)
grads("inverse lower", lambda m: jnp.sum(jnp.linalg.inv(lower(m)) * q), m)
grads("inverse upper", lambda m: jnp.sum(jnp.linalg.inv(upper(m)) * q), m)

positive = lambda m: m @ m.T + 2 * eye
symmetric = np.array(positive(m))
mirrored = lambda a: jnp.tril(a) + jnp.tril(a, -1).T
cholesky = lambda a: jnp.linalg.cholesky(mirrored(a))
grads("cholesky", lambda a: jnp.sum(cholesky(a) * q), symmetric)
grads("cholesky of positive", lambda m: jnp.sum(cholesky(positive(m)) * q), m)
grads("cholesky solve", lambda a, b: jnp.sum(jax.scipy.linalg.cho_solve((cholesky(a), True), b) * s), symmetric, b)

def ldl(a):
    l = cholesky(a)
    d = jnp.diag(l)
    return jnp.sum(l / d * q) + jnp.sum(d * d * s)


def qr(a, v, w):
    """Of a wide matrix, the factors of its first columns, and the others by them."""
    k = min(a.shape)
    x, r = jnp.linalg.qr(a[:, :k])
    return jnp.sum(x * v) + jnp.sum(jnp.concatenate([r, x.T @ a[:, k:]], axis=1) * w)


wide, small, few = u.T, q[:3, :3], np.array([2.0, -1.0, 1.0])
grads("ldl", ldl, symmetric)
for name, x, by in (("lu", m, q), ("lu tall", many, u), ("lu wide", wide, many.T)):
    grads(name, lambda x: jnp.sum(jax.lax.linalg.lu(x)[0] * by), x)
grads("qr", lambda x: qr(x, q, q), m)
grads("qr tall", lambda x: qr(x, u, small), many)
grads("qr wide", lambda x: qr(x, small, many.T), wide)
grads("r alone", lambda x: qr(x, 0, small), many)
grads("r alone wide", lambda x: qr(x, 0, many.T), wide)
grads("least squares", lambda x, y: jnp.sum(jnp.linalg.solve(x.T @ x, x.T @ y) * few), many, b)
grads("shortest", lambda x, y: jnp.sum(x.T @ jnp.linalg.solve(x @ x.T, y) * many), wide, small)

twice = jax.grad(lambda m, b: jnp.sum(jnp.linalg.solve(m, b) * s) * jnp.sum(jnp.linalg.solve(m, b)), argnums=(0, 1))
for at, change in enumerate(jax.jvp(lambda m: twice(m, b), (m,), (q,))[1]):
    t.show(f"solve twice d{at}", change)
t.show("cholesky twice", along(lambda a: jnp.sum(cholesky(a) * q), symmetric, q))
t.show("determinant twice", along(jnp.linalg.det, m, q))

single = noise(7, [1, 1])
t.show("solve one d0", -(one**2)[:, None] / single**2)
t.show("solve one d1", 2 * one / single[0])
t.show("cholesky one", np.sign(single))
empty = noise(7, [0, 0])
t.show("solve none d0", empty)
t.show("solve none d1", none)
t.show("cholesky none", empty)
t.show("determinant none", empty)

f, g, h = m.astype(np.float32), b.astype(np.float32), symmetric.astype(np.float32)
t.show("float sort", 2 * g, "float")
for at, slope in enumerate(jax.grad(lambda m, b: jnp.sum(jnp.linalg.solve(m, b)), argnums=(0, 1))(m, b)):
    t.show(f"float solve d{at}", slope, "float")
t.show("float cholesky", jax.grad(lambda a: jnp.sum(cholesky(a)))(symmetric), "float")
t.write()
