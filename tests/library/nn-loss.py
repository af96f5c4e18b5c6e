"""References for nn-loss.sac: torch in double precision, on inputs rounded to the type."""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Table, noise, whole

t = Table()


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


for kind in ("float", "double"):
    x, y = tensor(1, [5, 4], kind), tensor(2, [5, 4], kind)
    p = (y + 2) / 4
    sign = torch.where(y > 0, 1.0, -1.0).double()
    label = torch.tensor(whole(3, [5], 4))
    a = x.clone().requires_grad_()
    back = 2 * torch.autograd.grad(F.cross_entropy(a, label), a)[0]
    cosine = 1 - (x * y).sum() / (x.norm() * y.norm())
    for name, value in (
        ("each", F.cross_entropy(x, label, reduction="none")), ("cross_entropy", F.cross_entropy(x, label)),
        ("cross_entropy_back", back), ("nll", F.nll_loss(x, label)), ("mse", F.mse_loss(x, y)), ("l1", F.l1_loss(x, y)),
        ("huber", F.huber_loss(x, y)), ("bce", F.binary_cross_entropy_with_logits(x, p)),
        ("kl", F.kl_div(x, p, reduction="mean")), ("hinge", (1 - sign * x).clamp(min=0).mean()),
        ("soft_margin", F.soft_margin_loss(x, sign)), ("multi_margin", F.multi_margin_loss(x, label)), ("cosine", cosine),
        ("squared", ((x - y) ** 2).sum() / 2), ("accuracy", (x.argmax(1) == label).double().mean()), ("smooth", F.cross_entropy(x, label, label_smoothing=0.125)),
        ("smooth back", 2 * torch.autograd.grad(F.cross_entropy(a, label, label_smoothing=0.125), a)[0]), ("none", np.nan),
    ):
        t.summed(name, value, kind, 4)


def options(name, label, weight, smoothing, ignored):
    """torch leaves out one label: all that are to be left out become this one."""
    x = tensor(1, [5, 4], "double").requires_grad_()
    label = torch.tensor([-100 if y in ignored else y for y in label])
    weight = None if weight is None else torch.tensor(weight, dtype=torch.float64)
    dl = tensor(4, [5], "double")
    f = lambda reduction: F.cross_entropy(x, label, weight, label_smoothing=smoothing, reduction=reduction)
    t.summed(name, f("mean").detach(), "double", 4)
    t.summed(f"{name} back", 2 * torch.autograd.grad(f("mean"), x)[0], "double", 4)
    t.summed(f"{name} each", f("none").detach(), "double", 8)
    back = torch.autograd.grad(f("none"), x, dl)[0]
    t.summed(f"{name} each back", back, "double", 8)
    t.add(f"{name} differences", back, "double", absolute=1e-7)


WEIGHT = [1.0, 2.0, 0.5, 3.0]
options("weights", [3, 0, 1, 1, 2], WEIGHT, 0.0, [])
options("ignore", [3, -1, 1, 7, 2], None, 0.0, [-1, 7])
options("all", [3, 0, 1, -100, 0], WEIGHT, 0.25, [-100, 0])
options("all left out", [1, 1, 1, 1, 1], WEIGHT, 0.25, [1])
x = torch.tensor(noise(1, [5, 4], "float")).requires_grad_()
each = F.cross_entropy(x, torch.tensor([3, 0, 1, 1, 2]), reduction="none")
t.summed("each back", torch.autograd.grad(each, x, torch.arange(1.0, 6.0).double())[0], "float", 8)
label = torch.tensor(whole(3, [2, 3], 4))
t.exact("one_hot", F.one_hot(label, 4), "int")
count = np.zeros((4, 4), int)
np.add.at(count, (whole(3, [17], 4), whole(5, [17], 4)), 1)
t.exact("confusion", count, "int")
t.write()
