"""A hand: bones one after the other, all vertices at once; the derivative forwards, one column after the other of what a point has of its own."""
import numpy as np
from data import digest, spread, whole

PARENTS = [-1] + [0 if i % 4 == 1 else i - 1 for i in range(1, 22)]


def motions(k):
    a = 0.3 * spread((22, 4, 4), k, "f8")
    a[:, 3] = 0
    return a + np.eye(4)


def given(v, c, us):
    base = spread((v, 4), 4, "f8")
    base[:, 3] = 1
    of = [spread(26, 1, "f8"), motions(2), motions(3), base, (spread((v, 22), 5, "f8") + 0.5) * 0.1, spread((c, 3), 7, "f8")]
    if us:
        places = whole((2 * v, 3), 9, v)[whole(c, 6, 2 * v)]
        return of, places, spread((c, 2), 8, "f8") * 0.5 + 0.25
    return of, whole(c, 6, v), None


def formulas(np, stack):
    def by_angles(tx, tz):
        sx, cx, sz, cz = np.sin(tx), np.cos(tx), np.sin(tz), np.cos(tz)
        o = tx * 0
        return stack([stack([cz, -sz * cx, sz * sx, o]), stack([sz, cz * cx, -cz * sx, o]), stack([o, sx, cx, o]),
                      stack([o, o, o, o + 1])])

    def by_axis(r):
        norm = np.sqrt((r * r).sum())
        x, y, z = r / norm
        s, c = np.sin(norm), np.cos(norm)
        return stack([stack([x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s]),
                      stack([x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s]),
                      stack([x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c])])

    def vertices(theta, relatives, inverses, base, weights):
        absolutes, zero = [], theta[0] * 0
        for i, parent in enumerate(PARENTS):
            f, k = divmod(i - 2, 4)
            stiff = not 0 <= i - 2 < 20 or k == 3
            turn = by_angles(zero if stiff else theta[6 + 4 * f + (k + 1 if k else 0)], theta[7 + 4 * f] if k == 0 and not stiff else zero)
            own = relatives[i] @ turn
            absolutes.append(own if parent < 0 else absolutes[parent] @ own)
        moves = (stack(absolutes) @ inverses)[:, :3]
        skin = np.einsum("vj,jrs,vs->vr", weights, moves, base)
        return skin @ by_axis(theta[:3]).T + theta[3:6]

    return vertices


def jax(what, v, c, us=None):
    import jax
    import jax.numpy as jnp

    (theta, *model, points), places, us = given(v, c, us)
    theta, points, places, model = jnp.asarray(theta), jnp.asarray(points), jnp.asarray(places), [jnp.asarray(a) for a in model]
    vertices = formulas(jnp, jnp.stack)

    def errors(theta, us, *model):
        at = vertices(theta, *model)
        if us is None:
            return points - at[places]
        a, b = us[:, :1], us[:, 1:]
        return points - (a * at[places[:, 0]] + b * at[places[:, 1]] + (1 - a - b) * at[places[:, 2]])

    def matrix(theta, us, *model):
        whole = jax.jacfwd(errors)(theta, us, *model).reshape(3 * c, 26)
        if us is None:
            return whole
        own = [jax.jvp(lambda us: errors(theta, us, *model), [us], [jnp.zeros_like(us).at[:, k].set(1)])[1].reshape(3 * c, 1)
               for k in (0, 1)]
        return jnp.concatenate([*own, whole], 1)

    f = jax.jit(errors if what == "objective" else matrix)
    own = None if us is None else jnp.asarray(us)
    return lambda: f(theta, own, *model).block_until_ready(), digest
