"""References for nn-norm.sac: torch in double precision, on inputs rounded to the type.

Normalised numbers divide by deviations, so tolerances are multiples of what the elements and their reciprocal deviations are.
"""

import torch
import torch.nn.functional as F

from cases import EPS, Table, noise

t = Table()
EPSILON = {"float": 0.009999999776482582, "double": 0.01}


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def grads(y, args, dy):
    return torch.autograd.grad(y, args, dy, retain_graph=True)


def lines(names, values, kind, size):
    for name, value in zip(names, values):
        t.summed(name, value.detach(), kind, size)


def moments(x, axes, eps):
    mean = x.mean(axes)
    return mean, 1 / torch.sqrt(x.var(axes, correction=0) + eps)


def inputs(kind, x, scale, far=0.0):
    x = tensor(1, x, kind) + far
    if far:
        x = x.float().double()
    return [a.requires_grad_() for a in (x, tensor(2, scale, kind), tensor(3, scale, kind))]


def batch(x, scale, shift, axes, eps):
    mean, inv = moments(x, axes, eps)
    along = [1 if k in axes else n for k, n in enumerate(x.shape)]
    return (x - mean.reshape(along)) * (inv * scale).reshape(along) + shift.reshape(along), mean, inv


def normalised(name, kind, xs, each, far=0.0):
    axes = [0] if each else [k for k in range(len(xs)) if k != 1]
    scales = xs[1:] if each else [xs[1]]
    eps = EPSILON[kind]
    args = inputs(kind, xs, scales, far)
    x, scale, shift = args
    if name == "each scalar":
        with torch.no_grad():
            scale.fill_(0.5), shift.fill_(0.25)
    y, mean, inv = batch(x, scale, shift, axes, eps)
    if not each and xs[0] * len(xs) > 3:
        assert torch.allclose(y, F.batch_norm(x, None, None, scale, shift, True, eps=eps), atol=1e-9)
    size = float((inv.max() * x.abs().max() * scale.abs().max()).detach())
    slope = size * float(inv.max().detach())
    dy = tensor(4, xs, kind)
    lines([f"{name} {k}" for k in ("y", "mean", "inv")], (y, mean, inv), kind, size)
    count = x.numel() / mean.numel()
    if not each:
        lines([f"{name} {k}" for k in ("dx", "dscale", "dshift")], grads(y, args, dy), kind, slope * count)
    whole = (y * dy).sum() + (mean * tensor(5, scales, kind)).sum() + (inv * tensor(6, scales, kind)).sum()
    values = torch.autograd.grad(whole, args)
    if each:
        lines([f"{name} {k}" for k in ("dx", "dscale", "dshift")], values, kind, slope * count)
    else:
        lines([f"{name} whole dx", f"{name} whole dscale"], values, kind, slope * count)
    along = [1 if k in axes else n for k, n in enumerate(xs)]
    factor = scale / torch.sqrt(tensor(6, scales, kind) + 3 + eps)
    lines([f"{name} infer"], [(x - mean.reshape(along)) * factor.reshape(along) + shift.reshape(along)], kind, size)


def blocks(name, kind, xs, scales):
    args = inputs(kind, xs, scales)
    x, scale, shift = args
    dy = tensor(4, xs, kind)
    y = F.layer_norm(x, scales, scale, shift, EPSILON[kind])
    lines([f"{name} layer"], [y], kind, 4)
    lines([f"{name} layer {k}" for k in ("dx", "dscale", "dshift")], grads(y, args, dy), kind, 16)
    z = F.rms_norm(x, scales, scale, EPSILON[kind])
    lines([f"{name} rms"], [z], kind, 4)
    lines([f"{name} rms {k}" for k in ("dx", "dscale")], grads(z, args[:2], dy), kind, 16)


def groups(name, kind, g, xs):
    args = inputs(kind, xs, [xs[1]])
    x, scale, shift = args
    dy = tensor(4, xs, kind)
    for key, y in (("group", F.group_norm(x, g, scale, shift, EPSILON[kind])),
                   ("instance", F.instance_norm(x, weight=scale, bias=shift, eps=EPSILON[kind]))):
        lines([f"{name} {key}"], [y], kind, 4)
        lines([f"{name} {key} {k}" for k in ("dx", "dscale", "dshift")], grads(y, args, dy), kind, 16)


def within(x, size, k):
    """Sums over windows of size^d places, from size // 2 before."""
    d = x.dim() - 2
    total = F.pad(x * x, (size // 2, (size - 1) // 2) * d)
    for axis in range(2, x.dim()):
        total = total.unfold(axis, size, 1).sum(-1)
    return x * (k + 0.5 / size**d * total) ** -0.75


def responses(name, kind, xs, size, k):
    x = tensor(1, xs, kind).requires_grad_()
    dy = tensor(4, xs, kind)
    for key, y in (("across", F.local_response_norm(x, size, 0.5, 0.75, k)), ("within", within(x, size, k))):
        lines([f"{name} {key}", f"{name} {key} dx"], [y, *grads(y, [x], dy)], kind, 4)


normalised("plane", "float", [2, 3, 4, 5], False)
normalised("line", "double", [3, 2, 17], False)
normalised("points", "double", [16, 3], False)
normalised("one", "double", [1, 2, 1], False)
normalised("far", "float", [4, 2, 15], False, 1000.0)
t.exact("none", torch.zeros(0, 2, 3), "double")
normalised("each", "double", [5, 2, 3], True)
normalised("each of 17", "float", [4, 17], True)
normalised("each scalar", "double", [6], True)
old, new = tensor(1, [5], "float"), tensor(2, [5], "float")
t.summed("running", old * 0.9 + new * 0.1, "float", 2)
blocks("blocks", "float", [2, 3, 17], [17])
blocks("two axes", "double", [3, 4, 5], [4, 5])
blocks("vector", "double", [16], [16])
blocks("no block", "double", [0, 5], [5])
undefined = tensor(1, [3, 4], "double")
undefined[1, 2] = torch.nan
t.summed("undefined", F.layer_norm(undefined, [4], tensor(2, [4], "double"), tensor(3, [4], "double"), 0.01), "double", 4)
groups("plane", "float", 2, [2, 4, 3, 3])
groups("line", "double", 3, [2, 6, 15])
responses("plane", "float", [2, 7, 5, 4], 5, 1.0)
responses("line", "double", [2, 3, 17], 4, 2.0)

x, v, dy = tensor(1, [4, 3, 5], "double").requires_grad_(), tensor(7, [4, 3, 5], "double"), tensor(4, [4, 3, 5], "double")
part = lambda seed, n: tensor(seed, n, "double")
for name, y in (("batch", F.batch_norm(x, None, None, part(2, [3]), part(3, [3]), True, eps=0.01)),
                ("each", batch(x, part(2, [3, 5]), part(3, [3, 5]), [0], 0.01)[0]),
                ("layer", F.layer_norm(x, [5], part(2, [5]), part(3, [5]), 0.01)),
                ("rms", F.rms_norm(x, [5], part(2, [5]), 0.01)),
                ("group", F.group_norm(x, 1, part(2, [3]), part(3, [3]), 0.01)),
                ("across", F.local_response_norm(x, 2, 0.5, 0.75, 1.0)),
                ("within", within(x, 3, 1.0))):
    t.add(f"slope of {name}", (grads(y, [x], dy)[0] * v).sum(), "double", absolute=2e-6)
t.write()
