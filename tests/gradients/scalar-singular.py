from reference import Gradients, jax, np

jnp = jax.numpy
t = Gradients()


def at_points(name, points, f):
    x = jnp.array(points)
    t.each(name, f(x))
    t.each(f"{name} dx", jax.vmap(jax.grad(f))(x))


at_points("sqrt_near_0", [1e-300, 1e-20, 1e-8, 4], jnp.sqrt)
at_points("log_near_0", [1e-300, 1e-20, 1 - 1e-12, 1e300], jnp.log)
at_points("log1p_near_minus_1", [-0.999999999999, -1e-300, 1e-20, 1e10], jnp.log1p)
at_points("expm1_near_0", [-1e-20, 1e-300, -5, 700], jnp.expm1)
at_points("exp_far_out", [-708, -1e-20, 0.0, 709], jnp.exp)
at_points("cbrt_near_0", [-1e-300, 1e-12, -8, 1e200], jnp.cbrt)
at_points("tan_near_pole", [1.5707963, -1.57, 0, 4.7123], jnp.tan)
at_points("asin_near_1", [0.999999999, -0.999999, 0, 1e-200], jnp.arcsin)
at_points("acos_near_1", [0.999999999, -0.999999, 0, 1e-200], jnp.arccos)
at_points("acosh_near_1", [1.000000001, 1.5, 1e10, 1e150], jnp.arccosh)
at_points("asinh_far_out", [-1e150, 1e-200, -0.3, 1e8], jnp.arcsinh)
at_points("atanh_near_1", [0.999999999, -0.999999, 1e-200, 0.5], jnp.arctanh)
at_points("tanh_far_out", [-4, 1e-200, 0.7, 2], jnp.tanh)
at_points("sinh_cosh", [-700, 1e-200, 0.7, 300], lambda x: jnp.sinh(x) + jnp.cosh(0.5 * x))
at_points("log_bases", [1e-300, 1 + 1e-12, 7, 1e300], lambda x: jnp.log2(x) + jnp.log10(x))
at_points("reciprocal", [1e-150, -1e-100, 3, 1e150], lambda x: 1 / x)
at_points("power_of_base", [1e-100, 1e-3, 1, 1e50], lambda x: x**2.5 + x**-1.0)
at_points("power_of_exponent", [-300, 0, 1e-20, 300], lambda x: 3.7**x)
at_points("power_of_both", [1e-3, 0.5, 1, 20], lambda x: x**x)
at_points("sine_of_reciprocal", [1e-2, -0.05, 1, 1e10], lambda x: x * x * jnp.sin(1 / x))
at_points("flat_exponential", [0.05, -0.1, 1, 1e8], lambda x: jnp.exp(-1 / (x * x)))


def at_pairs(name, xs, ys, f):
    xs, ys = jnp.array(xs), jnp.array(ys)
    t.each(name, f(xs, ys))
    dx, dy = jax.vmap(jax.grad(f, argnums=(0, 1)))(xs, ys)
    t.each(f"{name} dx", dx)
    t.each(f"{name} dy", dy)


at_pairs("atan2_near_0", [1e-150, -1e-3, 0, 2], [1e-150, 1e-8, -1, 0.0], jnp.arctan2)
at_pairs("hypot_near_0", [1e-150, -1e-3, 0, 3e150], [1e-150, 1e-8, -1, 4e150], jnp.hypot)
at_pairs("quotient", [1e-150, -1e-3, 0, 2], [1e-150, 1e-8, -1, 1e100], lambda x, y: x / y)
at_pairs("power", [1e-10, 2, 10, 1.5], [0.1, -300, 0, 500], jnp.power)
t.write()
