"""References for nn-layers.sac: torch in double precision, on inputs rounded to the type.

Cubic curves in one dimension are those of planes with one row. Dropout has shares within five standard deviations.
"""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Table, noise, whole

t = Table()


def tensor(seed, shape, kind="double"):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def lines(name, kind, xs, ws):
    args = [tensor(seed, shape, kind).requires_grad_() for seed, shape in ((1, xs), (2, ws), (3, ws[:1]))]
    x, w, b = args
    y = F.linear(x, w, b)
    size = 4 * max(ws[-1], int(np.prod(xs[:-1])))
    t.summed(f"{name} y", y.detach(), kind, size)
    t.summed(f"{name} no bias", F.linear(x, w).detach(), kind, size)
    for key, value in zip(("dx", "dw", "db"), torch.autograd.grad(y, args, tensor(4, xs[:-1] + ws[:1], kind))):
        t.summed(f"{name} {key}", value, kind, size)


def pairs(name, kind, f, j, k, o):
    shapes = ((1, f + [j]), (2, f + [k]), (3, [o, j, k]), (4, [o]))
    args = [tensor(seed, shape, kind).requires_grad_() for seed, shape in shapes]
    y = F.bilinear(*args)
    values = [y.detach(), *torch.autograd.grad(y, args, tensor(5, f + [o], kind))]
    for key, value in zip(("y", "dx", "dz", "dw", "db"), values):
        t.summed(f"{name} {key}", value, kind, 64)


def bags(name, kind, start):
    """Bags before whose first there are places: torch has none, so those are cut off."""
    at = torch.tensor(whole(2, [20], 7))[start[0]:]
    for mode in ("sum", "mean"):
        w = tensor(1, [7, 3], kind).requires_grad_()
        y = F.embedding_bag(at, w, torch.tensor(start) - start[0], mode=mode)
        t.summed(f"{name} {mode}", y.detach(), kind, 20)
        t.summed(f"{name} {mode} dw", torch.autograd.grad(y, w, tensor(4, [len(start), 3], kind))[0], kind, 20)


def bicubic(x, r):
    if len(r) == 1:
        return F.interpolate(x[:, :, None], [1, *r], mode="bicubic")[:, :, 0]
    return F.interpolate(x, r, mode="bicubic")


def nearest(x, r):
    """torch's own rounds places in its type; these are exact."""
    for axis, n in zip(range(2, x.dim()), r):
        x = x.index_select(axis, torch.tensor([i * x.shape[axis] // n for i in range(n)]))
    return x


def sizes(name, kind, xs, r):
    x = tensor(1, xs, kind).requires_grad_()
    dy = tensor(2, xs[:2] + r, kind)
    forms = ("nearest", nearest(x, r)), ("bilinear", F.interpolate(x, r, mode="linear")), ("bicubic", bicubic(x, r))
    for key, y in forms:
        t.summed(f"{name} {key}", y.detach(), kind, 4)
    for key, y in forms:
        t.summed(f"{name} {key} dx", torch.autograd.grad(y, x, dy)[0], kind, 8)


lines("cube", "float", [2, 3, 17], [5, 17])
lines("matrix", "double", [16, 3], [4, 3])
lines("vector", "double", [15], [2, 15])
lines("empty", "double", [0, 3], [2, 3])
pairs("pairs", "float", [2, 3], 4, 5, 6)
pairs("pair", "double", [], 3, 2, 4)

w, at = tensor(1, [7, 3]).requires_grad_(), torch.tensor(whole(2, [4, 5], 7))
y = F.embedding(at, w)
t.exact("embedding", y.detach(), "double")
t.summed("embedding dw", torch.autograd.grad(y, w, tensor(4, [4, 5, 3]))[0], "double", 20)
t.exact("embedding one", w.detach()[2], "double")
t.exact("embedding none", torch.zeros(0, 3), "double")
bags("bags", "float", [0, 3, 3, 16])
bags("late bags", "double", [2, 20])

for name, p, count, kind, groups in (("dropout", 0.3, 20000, "double", 1), ("dropout all", 1, 20000, "double", 1),
                                     ("dropout none", 0, 20000, "double", 1), ("channels", 0.25, 6000, "float", 3)):
    if name == "channels":
        t.exact("dropout_back", 1, "bool")
    t.add(f"{name} zeros", p, kind, absolute=5 * (p * (1 - p) / count * groups) ** 0.5)
    t.exact(f"{name} others", 1, "bool")
t.exact("channels whole", 1, "bool")
t.exact("channels back", 1, "bool")

sizes("line up", "float", [2, 3, 5], [17])
sizes("line down", "double", [1, 1, 17], [5])
t.summed("plane up bicubic", bicubic(tensor(1, [2, 2, 4, 3]), [7, 8]), "double", 4)
mixed = tensor(1, [1, 2, 3, 9], "float")
t.summed("plane mixed bicubic", bicubic(mixed, [7, 4]), "float", 4)
t.summed("plane bilinear", F.interpolate(mixed, [7, 4], mode="bilinear"), "float", 2)
t.exact("plane nearest", nearest(mixed, [7, 4]), "float")
t.summed("space bilinear", F.interpolate(tensor(1, [1, 2, 3, 4, 2]), [5, 2, 4], mode="trilinear"), "double", 2)
plane, dplane = tensor(1, [1, 2, 3, 9]).requires_grad_(), tensor(2, [1, 2, 7, 4])
y = bicubic(plane, [7, 4])
t.summed("plane bicubic dx", torch.autograd.grad(y, plane, dplane)[0], "double", 16)
for name in ("adjoint", "adjoint again"):
    t.summed(name, (y * dplane).sum().detach(), "double", 200)
t.summed("plane nearest dx", torch.autograd.grad(nearest(plane, [7, 4]), plane, dplane)[0], "double", 8)
t.summed("same", tensor(1, [1, 1, 3, 4]), "double", 2)
t.summed("one", tensor(1, [1, 1, 1]).expand(1, 1, 4), "double", 2)

t.exact("pixel_shuffle", F.pixel_shuffle(tensor(1, [2, 12, 3, 2], "float"), 2), "float")
t.exact("pixel_shuffle line", tensor(1, [1, 6, 4]).reshape(1, 2, 3, 4).transpose(2, 3).reshape(1, 2, 12), "double")
t.exact("pixel_unshuffle", F.pixel_unshuffle(tensor(1, [2, 3, 6, 4], "float"), 2), "float")
t.exact("pixel undone", tensor(1, [1, 16, 2, 2, 3]), "double")
t.exact("channel_shuffle", tensor(1, [2, 6, 3], "float").reshape(2, 3, 2, 3).transpose(1, 2).reshape(2, 6, 3), "float")
t.exact("channels undone", tensor(1, [2, 6, 2, 2]), "double")

a, b, v = (tensor(seed, shape).requires_grad_() for seed, shape in ((1, [3, 4]), (2, [3, 5]), (3, [2, 4, 5])))
da, dv = torch.autograd.grad(F.bilinear(a, b, v).sum(), (a, v))
slope = (da * tensor(6, [3, 4])).sum() + (dv * tensor(7, [2, 4, 5])).sum()
t.add("slope", slope, "double", absolute=2e-6)
t.summed("slope again", slope, "double", 400)
t.write()
