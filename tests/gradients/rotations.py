from reference import Gradients, jax, noise, np

jnp = jax.numpy
t = Gradients()


def turned(r, x):
    theta = jnp.sqrt(jnp.sum(r * r))
    w = r / theta
    return x * jnp.cos(theta) + jnp.cross(w, x) * jnp.sin(theta) + w * jnp.dot(w, x) * (1 - jnp.cos(theta))


def misses(turn, at, focal, centre, radial, x, w, rotate=turned):
    p = rotate(turn, x - at)
    q = p[:2] / p[2]
    r = jnp.sum(q * q)
    return w * (q * (1 + radial[0] * r + radial[1] * r * r) * focal + centre - feature)


camera = [0.2 * noise(1, [3]), [0.3, -0.2, -6.0], 2.1, [0.1, -0.3], [0.05, -0.02]]
x, feature = jnp.array(noise(2, [3])), noise(3, [2])
arguments = [jnp.array(p) for p in camera] + [x, 0.8]
m, back = jax.vjp(misses, *arguments)
seed = jnp.array([1.0, -0.5])
t.show("bundle", m)
for part, slope in zip(["turn", "at", "focal", "centre", "radial", "dx", "dw"], back(seed)):
    t.show(f"bundle {part}", slope)
arguments[0] = jnp.zeros(3)
_, back = jax.vjp(lambda *p: misses(*p, rotate=lambda r, x: x + jnp.cross(r, x)), *arguments)
slopes = back(seed)
t.show("straight turn", slopes[0])
t.show("straight dx", slopes[5])


def by_angles(a):
    s, c = jnp.sin(a), jnp.cos(a)
    rx = jnp.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    ry = jnp.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    rz = jnp.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
    return rz @ ry @ rx


def reach(angles, bone):
    frame, at, joint = jnp.eye(3), jnp.zeros(3), []
    for k in range(4):
        frame = frame @ by_angles(angles[k])
        at = at + bone[k] * frame[:, 0]
        joint.append(at)
    j = jnp.stack(joint)
    skin = 0.7 * j + 0.3 * j[np.array([0, 0, 1, 2])]
    return jnp.sum((skin - wanted) ** 2)


wanted = noise(6, [4, 3])
t.value_grad("hand", reach, jnp.array(0.4 * noise(4, [4, 3])), jnp.array(abs(noise(5, [4]))))


def spun(q, x):
    u, v = q[0] / jnp.sqrt(jnp.sum(q * q)), q[1:] / jnp.sqrt(jnp.sum(q * q))
    y = 2 * jnp.dot(v, x) * v + (u * u - jnp.dot(v, v)) * x + 2 * u * jnp.cross(v, x)
    return y[0] + 2 * y[1] * y[2]


t.value_grad("quaternion", spun, jnp.array(noise(7, [4])), x)


def shade(direction, centre, radius):
    d = direction / jnp.sqrt(jnp.sum(direction * direction))
    b = jnp.dot(d, centre)
    inside = b * b - jnp.sum(centre * centre) + radius * radius
    p = d * (b - jnp.sqrt(jnp.where(inside > 0, inside, 1)))
    light = jnp.maximum(jnp.dot((p - centre) / radius, jnp.array([0.6, 0, -0.8])), 0)
    return jnp.where(inside > 0, light, 0)


ahead = [[0, 0, 1], [0.1, 0, 1], [0, 0.1, 1], [0.6, 0, 1], [0, -0.1, 1], [0.1, 0.1, 1]]
directions = 0.1 * noise(8, [6, 3]) + np.array(ahead)
rays = lambda d, c, r: sum(shade(d[i], c, r) * (i + 1) for i in range(6))
t.value_grad("rays", rays, jnp.array(directions), jnp.array([0.1, 0.2, 5.0]), 1.4)
t.write()
