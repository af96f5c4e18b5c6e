from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()
N = 5


def rows(a):
    for k in range(N):
        for i in range(k + 1, N):
            a = a.at[i].set(a[i] - a[i, k] / a[k, k] * a[k])
    return a


def elements(a):
    for k in range(N):
        for i in range(k + 1, N):
            f = a[i, k] / a[k, k]
            a = a.at[i, k].set(f)
            a = a.at[i, k + 1 :].set(a[i, k + 1 :] - f * a[k, k + 1 :])
    return a


def columns(a):
    columns = []
    for j in range(N):
        c = a[:, j]
        for q in columns:
            c = c - jnp.sum(q * c) * q
        columns.append(c / jnp.sqrt(jnp.sum(c * c)))
    return jnp.stack(columns, axis=1)


def cholesky(a):
    l = jnp.zeros((N, N))
    for j in range(N):
        l = l.at[j, j].set(jnp.sqrt(a[j, j] - jnp.sum(l[j, :j] ** 2)))
        for i in range(j + 1, N):
            l = l.at[i, j].set((a[i, j] - jnp.sum(l[i, :j] * l[j, :j])) / l[j, j])
    return l


def sorted_rows(a):
    r = [a[i] for i in range(N)]
    for _ in range(N):
        for i in range(N - 1):
            if r[i][0] > r[i + 1][0]:
                r[i], r[i + 1] = r[i + 1] * (1 + 0.1 * r[i][1]), r[i]
    return jnp.stack(r)


def table(a):
    e = [[a[i, j] for j in range(N)] for i in range(N)]
    for i in range(N):
        for j in range(N):
            if i and j:
                e[i][j] += jnp.log(jnp.exp(e[i - 1][j]) + jnp.exp(e[i][j - 1]) + jnp.exp(e[i - 1][j - 1]))
            elif i:
                e[i][j] += e[i - 1][j] ** 2
            elif j:
                e[i][j] -= jnp.sin(e[i][j - 1])
    return jnp.stack([jnp.stack(row) for row in e])


def triangles(a):
    for i, until in enumerate((0, 5, 1, 3, 2)):
        for j in range(1, until):
            a = a.at[i, j].set(a[i, j] * a[i, j - 1] + a[(i + 1) % N, j])
    return a


def planes(a):
    for k in range(2, 5):
        a = a.at[k].set(a[k] * a[k - 1] + jnp.sin(a[k - 2]))
        for i in range(1, 3):
            a = a.at[k, i].set(a[k, i] * a[k, i - 1])
    return a


w = noise(1, [N, N])
a = noise(2, [N, N]) + 3 * jnp.eye(N)
s = a + a.T
b = noise(3, [5, 3, 2])
weighted = lambda f: lambda x: jnp.sum(f(x) * w)
for name, f in {
    "rows": rows,
    "elements": elements,
    "boxes": rows,
    "jordan": jnp.linalg.inv,
    "columns": columns,
    "sorted": sorted_rows,
    "table": table,
    "triangles": triangles,
}.items():
    t.value_grad(name, weighted(f), a)
t.show("hessian", jax.grad(lambda x: jnp.sum(jax.grad(weighted(elements))(x) * w))(a))
t.show("tangent", jax.jvp(weighted(rows), (a,), (w,))[1])
t.value_grad("cholesky", weighted(cholesky), s)
t.value_grad("sums", weighted(cholesky), s)
t.value_grad("planes", lambda b: jnp.sum(planes(b) * b), b)
t.write()
