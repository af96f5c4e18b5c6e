"""The peers of tests/bench/device: PyTorch and JAX on a device. Each function gives seconds by the name of a case."""
import statistics
import time


def measure(run, wait):
    wait(run())
    times = []
    while sum(times) < 1 and len(times) < 50:
        start = time.perf_counter()
        wait(run())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def sweeps(u, set_inner):
    for _ in range(10):
        u = set_inner(u, 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))
    return u


def pulls(x, m, rsqrt, block):
    """Accelerations, some bodies at a time so that the pairs fit memory."""
    parts = []
    for first in range(0, len(m), block):
        d = x[None] - x[first : first + block, None]
        r = rsqrt((d * d).sum(-1) + 1e-3)
        parts.append(((m * r * r * r)[..., None] * d).sum(1))
    return parts


def torch(sizes):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    on = torch.device("cuda")
    wait = lambda _: torch.cuda.synchronize()
    n, grid, bodies, line = (sizes[name] for name in ("n", "grid", "bodies", "line"))
    a, b = torch.rand(n, n, device=on), torch.rand(n, n, device=on)
    found = {"mm_rows": measure(lambda: a @ b, wait), "mm_textbook": measure(lambda: a @ b, wait)}
    x = torch.rand(line, device=on)
    found["copy"] = measure(x.clone, wait)
    found["map"] = measure(lambda: 1.5 * x + 1, wait)
    found["sum"] = measure(x.sum, wait)
    del x

    def inner(u, values):
        v = u.clone()
        v[1:-1, 1:-1] = values
        return v

    u = torch.rand(grid, grid, device=on)
    found["stencil"] = measure(lambda: sweeps(u, inner), wait)
    x, m = torch.rand(bodies, 3, device=on), torch.rand(bodies, device=on)
    found["nbody"] = measure(lambda: pulls(x, m, torch.rsqrt, 4096), wait)
    return found


def jax(sizes):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    wait = jax.block_until_ready
    random = lambda *shape: jax.random.uniform(jax.random.PRNGKey(0), shape)
    timed = lambda f, *args: measure(lambda f=jax.jit(f): f(*args), wait)
    n, grid, bodies, line = (sizes[name] for name in ("n", "grid", "bodies", "line"))
    a, b = random(n, n), random(n, n)
    product = timed(jnp.matmul, a, b)
    found = {"mm_rows": product, "mm_textbook": product}
    x = random(line)
    found["map"], found["sum"] = timed(lambda x: 1.5 * x + 1, x), timed(jnp.sum, x)
    del x
    found["stencil"] = timed(lambda u: sweeps(u, lambda u, v: u.at[1:-1, 1:-1].set(v)), random(grid, grid))
    found["nbody"] = timed(lambda x, m: pulls(x, m, jax.lax.rsqrt, 4096), random(bodies, 3), random(bodies))
    return found
