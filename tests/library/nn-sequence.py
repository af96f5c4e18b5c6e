"""References for nn-sequence.sac: torch in double precision, on inputs rounded to the type.

What torch gives as gradient of log probabilities holds behind log_softmax only; alone it is the share of each class among all
paths, summed here over states in double precision.
"""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Table, noise, whole

t = Table()


def shares(p, label):
    """Minus the gradient of the loss of one sequence, from all beginnings and endings of paths, in probabilities."""
    p = np.exp(p)
    T, k = p.shape
    states = [0] + [c for j in label for c in (j, 0)]
    z = len(states)
    reach = np.zeros((z, z))
    for s in range(z):
        for to in (s, s + 1, s + 2):
            if to < z and (to < s + 2 or states[to] not in (0, states[s])):
                reach[s, to] = 1
    a = np.zeros((T, z))
    b = np.zeros((T, z))
    for s in range(T):
        a[s] = (np.eye(z)[0] + (np.eye(z)[1] if z > 1 else 0) if s == 0 else a[s - 1] @ reach) * p[s, states]
    for s in reversed(range(T)):
        b[s] = (np.arange(z) >= z - 2) * 1.0 if s == T - 1 else reach @ (b[s + 1] * p[s + 1, states])
    out = np.zeros((T, k))
    for s in range(T):
        with np.errstate(invalid="ignore"):
            each = a[s] * b[s] / (a[s] * b[s]).sum()
        if np.isnan(each).any():
            out[s] = np.nan
        else:
            np.add.at(out[s], states, each)
    return out


def ctc(name, kind, T, k, label, times, lengths, paths=False):
    label, n = np.array(label), len(times)
    x = torch.tensor(noise(1, [T, n, k], kind), dtype=torch.float64)
    dc = torch.tensor(noise(2, [n], kind), dtype=torch.float64)
    p = x.log_softmax(-1)
    loss, back = np.full(n, np.inf), np.zeros((T, n, k))
    for i in range(n):
        target = label[i, : lengths[i]]
        one = F.ctc_loss(p[: times[i], i : i + 1], torch.tensor(target)[None], [times[i]], [lengths[i]], reduction="none") if times[i] else None
        loss[i] = (0.0 if lengths[i] == 0 else np.inf) if one is None else float(one[0])
        if times[i]:
            back[: times[i], i] = -float(dc[i]) * shares(p[: times[i], i].numpy(), target)
    if paths:
        t.summed("paths", loss, kind, 8)
        t.add("paths back", back, kind, absolute=1e-7)
        return
    t.summed(name, loss, kind, 4 * T)
    t.summed(f"{name} back", back, kind, 8 * T)
    a = x.clone().requires_grad_()
    losses = F.ctc_loss(a.log_softmax(-1), torch.tensor(label.clip(0, k - 1)), times, lengths, reduction="none") if min(times) else None
    if losses is None:
        logits = np.zeros((T, n, k))
    else:
        logits = torch.autograd.grad(losses, a, dc)[0].numpy()
    t.summed(f"{name} logits", logits, kind, 8 * T)


def decode(seed, shape, kind, times):
    best = noise(seed, shape, kind).argmax(-1) if shape[0] else np.zeros((0, shape[1]), int)
    out, sizes = np.zeros((shape[1], shape[0]), int), []
    for i, size in enumerate(times):
        path = best[:size, i]
        text = [c for s, c in enumerate(path) if c and (s == 0 or path[s - 1] != c)]
        out[i, : len(text)] = text
        sizes.append(len(text))
    t.exact("decode", out, "int")
    t.exact("decode lengths", sizes, "int")


small = ([[1, 2, 2], [2, 1, 9], [1, 1, 9], [2, 9, 9]], [5, 3, 4, 5], [3, 2, 2, 1])
ctc("ctc", "float", 5, 3, *small)
ctc("ctc", "double", 5, 3, *small)
ctc("paths", "double", 5, 3, *small, paths=True)
ctc("impossible", "double", 3, 4, [[1, 1, 1], [1, 2, 3], [1, 2, 2]], [3, 3, 3], [3, 3, 3])
ctc("no label", "double", 3, 2, np.zeros((2, 0), int), [3, 1], [0, 0])
ctc("no time", "double", 2, 2, [[1], [1]], [0, 0], [0, 1])
ctc("long", "float", 33, 17, whole(3, [3, 16], 16) + 1, [33, 32, 31], [16, 15, 1])
decode(7, [9, 4, 3], "float", [9, 5, 1, 0])
decode(8, [17, 2, 4], "double", [17, 16])
decode(8, [0, 2, 4], "double", [0, 0])
t.write()
