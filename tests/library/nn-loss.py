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
        ("squared", ((x - y) ** 2).sum() / 2), ("accuracy", (x.argmax(1) == label).double().mean()), ("none", np.nan),
    ):
        t.summed(name, value, kind, 4)
label = torch.tensor(whole(3, [2, 3], 4))
t.exact("one_hot", F.one_hot(label, 4), "int")
count = np.zeros((4, 4), int)
np.add.at(count, (whole(3, [17], 4), whole(5, [17], 4)), 1)
t.exact("confusion", count, "int")
t.write()
