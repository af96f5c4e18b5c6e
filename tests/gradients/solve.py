from reference import Gradients, jax, noise, np

jnp = jax.numpy
triangular = jax.scipy.linalg.solve_triangular
t = Gradients()
m, b, w, q, many = noise(1, [5, 5]), noise(2, [5]), noise(3, [5]), noise(4, [5, 5]), noise(5, [5, 2])
dominant = lambda m: m + 6 * np.eye(5)
# Half of the matrix counts.
lower = lambda m, b: triangular(jnp.tril(dominant(m)), b, lower=True)
upper = lambda m, b: triangular(jnp.triu(dominant(m)), b, lower=False)


def jacobi(a, b):
    x = jnp.zeros(5)
    for _ in range(12):
        x = (b - a @ x + jnp.diag(a) * x) / jnp.diag(a)
    return x


t.value_grad("lower", lambda m, b: jnp.sum(lower(m, b) * w), m, b)
t.value_grad("upper", lambda m, b: jnp.sum(upper(m, b) * w), m, b)
t.value_grad("elimination", lambda m, b: jnp.sum(jnp.linalg.solve(m, b) * w), m, b)
t.value_grad("jacobi", lambda m, b: jnp.sum(jacobi(2 * dominant(m), b) * w), m, b)
t.value_grad("library triangular", lambda m, b: jnp.sum(lower(m, b) * w) + jnp.sum(upper(m, many)), m, b)
t.value_grad("library", lambda m, b: jnp.sum(jnp.linalg.solve(m, b) * w), m, b)
t.value_grad("library many", lambda m, b: jnp.sum(jnp.linalg.solve(m, b)), m, many)
t.value_grad("determinant", jnp.linalg.det, m)
t.value_grad("inverse", lambda m: jnp.sum(jnp.linalg.inv(m) * q), m)
t.write()
