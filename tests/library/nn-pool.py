"""References for nn-pool.sac: torch in double precision, on inputs rounded to the type."""

import torch
import torch.nn.functional as F

from cases import Table, noise

t = Table()
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def pools(name, kind, shape, *options):
    pools_of(name, kind, tensor(1, shape, kind), *options)


def pools_of(name, kind, x, window, stride, pad, ceil, inner):
    d = len(window)
    x.requires_grad_()
    stride = stride or window
    y, place = MAX[d](x, window, stride, pad, 1, ceil, return_indices=True)
    t.exact(f"{name} max", y.detach(), kind)
    t.exact(f"{name} place", place, "int")
    dy = tensor(2, y.shape, kind)
    t.summed(f"{name} max_back", torch.autograd.grad(y, x, dy)[0], kind, 16)
    m = AVG[d](x, window, stride, pad, ceil, not inner)
    t.summed(f"{name} avg", m.detach(), kind, 2)
    t.summed(f"{name} avg_back", torch.autograd.grad(m, x, dy)[0], kind, 4)


pools("line", "double", [2, 3, 17], [3], 2, 1, False, False)
pools("line up", "double", [2, 3, 16], [3], 2, 1, True, True)
pools("plane", "float", [2, 2, 6, 7], [2, 3], 0, 0, False, False)
pools("plane overlap", "float", [1, 2, 6, 7], [3, 3], 1, 1, True, False)
pools("space", "double", [1, 2, 4, 5, 3], [2, 3, 2], 2, 1, False, True)
pools("plane far", "double", [2, 2, 11, 9], [5, 5], 4, 2, False, True)
pools("plane up", "float", [1, 2, 8, 9], [4, 3], 2, 1, True, False)
pools("one", "double", [2, 1, 1], [1, 1], 1, 0, False, False)
pools("nobody", "float", [0, 2, 5, 5], [3, 3], 2, 1, False, False)
# torch refuses planes without elements.
t.exact("empty max", [[float("-inf")], [float("-inf")]], "double")
t.exact("empty place", [[0], [0]], "int")
t.exact("empty max_back", torch.zeros(2, 0), "double")
t.exact("empty avg", [[0], [0]], "double")
t.exact("empty avg_back", torch.zeros(2, 0), "double")
x = tensor(1, [2, 9, 7], "double")
x[0].view(-1)[5::23] = float("nan")
pools_of("numbers and NaN", "double", x, [3, 3], 2, 1, True, False)
pools_of("infinite", "double", torch.full((1, 5, 5), float("-inf"), dtype=torch.float64), [3, 3], 2, 1, False, True)
x = tensor(1, [2, 3, 5, 6], "float")
t.summed("adaptive", F.adaptive_avg_pool2d(x, (2, 4)), "float", 2)
t.summed("global avg", x.mean((2, 3)), "float", 2)
t.exact("global max", x.amax((2, 3)), "float")
y, place = F.max_pool2d(x, 2, return_indices=True)
t.exact("unpool", F.max_unpool2d(y, place, 2, output_size=(5, 6)), "float")
x.requires_grad_()
y = F.max_pool2d(x, 3, 2, 1, 1, True)
t.summed("by place", torch.autograd.grad(y, x, tensor(2, y.shape, "float"))[0], "float", 16)
t.write()
