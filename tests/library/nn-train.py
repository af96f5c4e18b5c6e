"""References for nn-train.sac: torch.optim in double precision, on inputs rounded to the type."""

import numpy as np
import torch

from cases import Table, noise

t = Table()


def net(seed, kind):
    parts = [noise(seed, [3, 17], kind), noise(seed + 1, [5], kind), noise(seed + 2, [1], kind)[0]]
    return [torch.tensor(p, dtype=torch.float64) for p in parts]


def fields(name, parts, kind, roundings=1):
    """Every step rounds a few times, relative to numbers of some units."""
    for field, part in zip("kbs", parts):
        t.summed(f"{name} {field}", part.detach(), kind, 5 * roundings)


def run(name, kind, make, roundings=1):
    w = [p.requires_grad_() for p in net(1, kind)]
    optim = make(w)
    for i in range(1, 11):
        for p, g in zip(w, net(10 * i, kind)):
            p.grad = g
        optim.step()
    fields(name, w, kind, roundings)
    return optim, w


def dampened(kind):
    """torch does not dampen the first gradient."""
    w, m = net(1, kind), [0, 0, 0]
    for i in range(1, 11):
        m = [0.9 * a + 0.5 * g for a, g in zip(m, net(10 * i, kind))]
        w = [a - 0.1 * b for a, b in zip(w, m)]
    fields("dampened", w, kind, 4)


def clip(parts, most):
    parts = [p.clone().requires_grad_() for p in parts]
    for p in parts:
        p.grad = p.detach().clone()
    torch.nn.utils.clip_grad_norm_(parts, most)
    return [p.grad for p in parts]


def rates(make, count):
    optim = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = make(optim)
    found = []
    for _ in range(count):
        found.append(optim.param_groups[0]["lr"])
        optim.step()
        schedule.step()
    return found


O = torch.optim
for kind in ["float", "double"]:
    run("sgd", kind, lambda w: O.SGD(w, lr=0.1, weight_decay=0.01))
    run("nesterov", kind, lambda w: O.SGD(w, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True), 4)
    dampened(kind)
    run("rmsprop", kind, lambda w: O.RMSprop(w, lr=0.01, weight_decay=0.01))
    run("rmsprop momentum", kind, lambda w: O.RMSprop(w, lr=0.01, alpha=0.5, eps=0.001, momentum=0.5))
    run("adagrad", kind, lambda w: O.Adagrad(w, lr=0.1, weight_decay=0.01))
    optim, w = run("adam", kind, lambda w: O.Adam(w, lr=0.01, weight_decay=0.1))
    fields("adam m", [optim.state[p]["exp_avg"] for p in w], kind)
    fields("adam v", [optim.state[p]["exp_avg_sq"] for p in w], kind)
    run("adamw", kind, lambda w: O.AdamW(w, lr=0.01, betas=(0.5, 0.75), eps=0.001))
    start = net(1, kind)
    norm = np.sqrt(sum(float((p * p).sum()) for p in start) + 25)
    t.elementwise("norm", norm, "double", 8)
    fields("clipped", [p * 1.5 / (norm + 1e-6) for p in start], kind)
    t.elementwise("clipped one", clip(start[:1], 1.5)[0], kind)
    t.exact("not clipped", start[1], kind)
    t.exact("clipped none", np.zeros((0, 3)), kind)
    cosine = rates(lambda o: O.lr_scheduler.CosineAnnealingLR(o, 15, 0.125), 16) + [0.125, 0.125]
    t.elementwise("cosine", cosine, kind, 8)
    t.elementwise("step", rates(lambda o: O.lr_scheduler.StepLR(o, 5, 0.1), 16), kind)
    t.elementwise("warmup", [0.5 * min(1, i / 15) for i in range(17)], kind)
t.write()
