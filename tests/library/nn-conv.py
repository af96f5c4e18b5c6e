"""References for nn-conv.sac: torch in double precision, on inputs rounded to the type."""

import numpy as np
import torch
import torch.nn.functional as F

from cases import EPS, Table, noise

t = Table()
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def run(f, x, w, b, seed, kind):
    """The result and the gradients for dy, and the same for absolute values: the magnitudes."""
    out = []
    for make in (lambda a: a, torch.abs):
        args = [make(a).detach().clone().requires_grad_() for a in (x, w, b)]
        y = f(*args)
        y.backward(make(tensor(seed, y.shape, kind)))
        out.append([y.detach().numpy()] + [a.grad.numpy() for a in args])
    return out


def lines(name, f, x, w, b, seed, kind):
    values, sizes = run(f, x, w, b, seed, kind)
    for key, value, size in zip(("y", "dx", "dw", "db"), values, sizes):
        t.summed(f"{name} {key}", value, kind, size)


def layer(name, kind, xs, ws, o, stride, pad, dilation, groups):
    d = len(xs) - 2
    stride, dilation, groups = max(stride, 1), max(dilation, 1), max(groups, 1)
    x, w, b = tensor(1, xs, kind), tensor(2, ws, kind), tensor(3, [o], kind)
    if xs[0] == 0:
        y = np.zeros([0, o] + [s - k + 1 for s, k in zip(xs[2:], ws[2:])])
        for key, value in (("y", y), ("dx", np.zeros(xs)), ("dw", np.zeros(ws)), ("db", np.zeros(o))):
            t.summed(f"{name} {key}", value, kind, value)
    else:
        padding = "same" if pad < 0 else pad
        f = lambda x, w, b: CONV[d](x, w, b, stride, padding, dilation, groups)
        lines(name, f, x, w, b, 4, kind)
        y = f(x, w, b)
    r = list(y.shape[2:])
    t.exact(f"{name} shape", r, "int")
    t.exact(f"{name} flops", 2 * int(np.prod(ws)) * xs[0] * int(np.prod(r)), "long")


def transposed(name, kind, xs, ws, o, stride, pad, dilation, groups, more):
    x, w, b = tensor(1, xs, kind), tensor(2, ws, kind), tensor(3, [o], kind)
    f = lambda x, w, b: BACK[len(xs) - 2](x, w, b, stride, pad, more, groups, dilation)
    lines(name, f, x, w, b, 5, kind)


def columns(name, kind, xs, ts, stride, pad, dilation):
    x = tensor(1, xs, kind)
    flat = len(xs) == 3
    if flat:
        x, ts, opts = x[:, :, None], [1] + ts, dict(stride=(1, stride), padding=(0, pad), dilation=(1, dilation))
    else:
        opts = dict(stride=stride, padding=pad, dilation=dilation)
    a = F.unfold(x, ts, **opts)
    t.exact(f"{name} unfold", a.numpy(), kind)
    c = tensor(6, a.shape, kind)
    back = lambda c: F.fold(c, tuple(x.shape[2:]), ts, **opts).numpy().reshape(xs)
    t.summed(f"{name} fold", back(c), kind, back(c.abs()))


layer("line", "double", [2, 3, 7], [4, 3, 3], 4, 0, 0, 0, 0)
layer("line strided", "double", [1, 4, 17], [6, 2, 4], 6, 2, 1, 2, 2)
layer("line same", "double", [1, 2, 16], [3, 2, 4], 3, 1, -1, 1, 1)
layer("line wide", "double", [1, 2, 15], [2, 1, 2], 2, 5, 3, 1, 2)
layer("line empty", "double", [0, 2, 5], [2, 2, 2], 2, 1, 0, 1, 1)
layer("plane", "float", [2, 4, 6, 7], [3, 4, 3, 2], 3, 1, 1, 1, 1)
layer("plane groups", "float", [1, 4, 9, 8], [6, 2, 3, 3], 6, 2, 1, 1, 2)
layer("plane depthwise same", "float", [2, 3, 7, 8], [6, 1, 2, 3], 6, 1, -1, 2, 3)
layer("plane far", "float", [1, 2, 5, 6], [2, 2, 2, 3], 2, 3, 2, 2, 1)
layer("plane point", "float", [1, 3, 1, 1], [2, 3, 1, 1], 2, 1, 0, 1, 1)
layer("space", "double", [1, 2, 4, 5, 3], [3, 2, 2, 2, 2], 3, 1, 1, 1, 1)
layer("space large window", "double", [1, 2, 4, 4, 5], [3, 2, 4, 3, 4], 3, 1, 1, 1, 1)
layer("space strided", "double", [1, 2, 4, 5, 3], [2, 1, 3, 2, 1], 2, 2, 1, 1, 2)
transposed("t line", "double", [2, 3, 5], [3, 2, 3], 2, 1, 0, 1, 1, 0)
transposed("t line strided", "double", [1, 4, 5], [4, 3, 4], 6, 2, 1, 2, 2, 1)
transposed("t line cut", "double", [1, 2, 6], [2, 2, 2], 2, 1, 2, 1, 1, 0)
transposed("t plane", "float", [1, 3, 4, 3], [3, 2, 3, 2], 2, 3, 1, 1, 1, 2)
columns("line", "double", [2, 2, 9], [3], 2, 1, 2)
columns("plane", "float", [1, 2, 5, 4], [2, 3], 1, 1, 1)

x, w = tensor(1, [2, 4, 6, 5], "float"), tensor(2, [4, 4, 3, 3], "float")
size = float(F.conv2d(x.abs(), w.abs(), padding="same").max())
t.summed("known y", F.conv2d(x, w, padding="same").numpy(), "float", size)
t.summed("known stride y", F.conv2d(x, w, stride=2).numpy(), "float", size)


def long(x, w):
    return F.conv2d(F.pad(x, (2, 0, 0, 1)), w, stride=(2, 1), dilation=(1, 2))


t.summed("long y", long(x, w).numpy(), "float", size)
b = torch.zeros(4, dtype=torch.float64)
values, sizes = run(lambda x, w, b: long(x, w) + b[:, None, None], x, w, b, 4, "float")
t.summed("long dx", values[1], "float", sizes[1])
t.summed("long dw", values[2], "float", sizes[2])
large, dy = tensor(2, [3, 4, 5, 4], "float"), tensor(4, [2, 3, 4, 4], "float")
size = F.conv_transpose2d(dy.abs(), large.abs(), padding=1).numpy()
t.summed("large window dx", F.conv_transpose2d(dy, large, padding=1).numpy(), "float", size)
depth = tensor(2, [8, 1, 2, 2], "float")
t.summed("depthwise", F.conv2d(x, depth, padding=1, groups=4).numpy(), "float", 16)
depth, point = tensor(2, [4, 1, 2, 2], "float"), tensor(3, [3, 4, 1, 1], "float")
y = F.conv2d(F.conv2d(x, depth, stride=2, groups=4), point)
t.summed("separable", y.numpy(), "float", 64)
t.write()
