"""The Mandelbrot set: a loop per point in Numba, whole arrays elsewhere."""
import numpy as np
from data import checksum


def coordinates(dtype, n):
    h = np.dtype(dtype).type(2.5 / n)
    line = np.arange(n).astype(dtype) * h
    return line - np.dtype(dtype).type(2), line - np.dtype(dtype).type(1.25)


def numpy(dtype, n, limit):
    x, y = coordinates(dtype, n)
    c = (x[None, :] + 1j * y[:, None]).reshape(-1)

    def run():
        times = np.zeros(n * n, np.int32)
        z, point, index = np.zeros_like(c), c, np.arange(n * n)
        for _ in range(limit):
            inside = z.real**2 + z.imag**2 <= 4
            z, point, index = z[inside], point[inside], index[inside]
            times[index] += 1
            z = z * z + point
        return times

    return run, checksum


def numba(dtype, n, limit):
    import numba

    real = np.dtype(dtype).type
    four, two, h = real(4), real(2), real(2.5 / n)

    @numba.njit(fastmath=True, parallel=True)
    def mandelbrot(times):
        for i in numba.prange(n):
            y = h * real(i) - real(1.25)
            for j in range(n):
                x = h * real(j) - two
                re = im = real(0)
                k = 0
                while k < limit and re * re + im * im <= four:
                    re, im = re * re - im * im + x, two * re * im + y
                    k += 1
                times[i, j] = k

    times = np.empty((n, n), np.int32)

    def run():
        mandelbrot(times)
        return times

    return run, checksum


def jax(dtype, n, limit):
    import jax
    import jax.numpy as jnp

    x, y = map(jnp.asarray, coordinates(dtype, n))
    x, y = jnp.meshgrid(x, y)

    @jax.jit
    def mandelbrot(x, y):
        def step(_, state):
            re, im, times = state
            inside = re * re + im * im <= 4
            # A point that has left stays where it is.
            return (jnp.where(inside, re * re - im * im + x, re), jnp.where(inside, 2 * re * im + y, im),
                    times + inside)

        zero = jnp.zeros_like(x)
        return jax.lax.fori_loop(0, limit, step, (zero, zero, jnp.zeros(x.shape, jnp.int32)))[2]

    return lambda: mandelbrot(x, y).block_until_ready(), checksum
