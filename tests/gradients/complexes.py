from reference import Gradients, jax, noise

jnp = jax.numpy
t = Gradients()


# By parts: JAX's own gradients of complex arguments are conjugates.
def of_parts(f):
    return lambda z, c: f(z[0] + 1j * z[1], c[0] + 1j * c[1])


def orbit(z, c):
    for _ in range(5):
        z = z * z + c
    return square(z)


def ratio(a, b):
    q = a / b
    return 2 * q.real - q.imag + square(a * b)


square = lambda z: z.real * z.real + z.imag * z.imag
z, c = jnp.array([0.3, -0.2]), jnp.array([-0.4, 0.5])
t.value_grad("orbit", of_parts(orbit), z, c)
t.value_grad("ratio", of_parts(ratio), z, c)
t.value_grad("spectrum", lambda x, w: jnp.sum(w * square(jnp.fft.fft(x))), noise(1, [8]), noise(2, [8]))
t.write()
