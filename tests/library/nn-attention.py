"""References for nn-attention.sac: torch in double precision, on inputs rounded to the type."""

import numpy as np
import torch
import torch.nn.functional as F

from cases import Table, noise, whole

t = Table()


def tensor(seed, shape, kind="double"):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def attention(q, k, v, seen=None):
    """The formula; torch's own function has no gradient for queries without keys."""
    score = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if seen is not None:
        score = score.masked_fill(~seen, -torch.inf)
    w = torch.softmax(score, -1)
    if seen is not None:
        w = torch.where(seen.any(-1, keepdim=True), w, torch.zeros_like(w))
    return w @ v


def causal(n, m):
    return torch.ones(n, m, dtype=torch.bool).tril()


def holes(n, m):
    seen = torch.tensor(whole(9, [n, m], 3) != 0)
    seen[1] = False
    return seen


def masked(q, k, v, seen):
    """As `attention`, but rows that see nothing get finite scores, so that gradients have no NaN."""
    any_seen = seen.any(-1, keepdim=True)
    return attention(q, k, v, seen | ~any_seen) * any_seen


def lines(name, y, args, dy, kind, size=8):
    values = [y, *torch.autograd.grad(y, args, dy)]
    for key, value in zip(("y", "dq", "dk", "dv"), values):
        t.summed(f"{name} {key}" if name else key, value.detach(), kind, size)


def all_of(name, kind, qs, ks, vs):
    args = [tensor(seed, shape, kind).requires_grad_() for seed, shape in ((1, qs), (2, ks), (3, vs))]
    dy = tensor(4, qs[:-1] + vs[-1:], kind)
    n, m = qs[-2], ks[-2]
    assert torch.allclose(attention(*args), F.scaled_dot_product_attention(*args))
    assert torch.allclose(attention(*args, causal(n, m)), F.scaled_dot_product_attention(*args, is_causal=True))
    assert torch.allclose(masked(*args, holes(n, m)), F.scaled_dot_product_attention(*args, attn_mask=holes(n, m)))
    lines(name, attention(*args), args, dy, kind)
    lines(f"{name} causal", attention(*args, causal(n, m)), args, dy, kind)
    lines(f"{name} masked", masked(*args, holes(n, m)), args, dy, kind)


def multi_head(x, w, b, o, a, heads, hide):
    y = x @ w.T + b
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(-2, -3) for part in y.chunk(3, -1))
    z = attention(q, k, v, causal(x.shape[-2], x.shape[-2]) if hide else None)
    return z.transpose(-2, -3).flatten(-2) @ o.T + a


def rope(x, start=0):
    n, k = x.shape[-2:]
    angle = (start + torch.arange(n, dtype=torch.float64))[:, None] * 10000 ** (-torch.arange(0, k, 2, dtype=torch.float64) / k)
    c, s, even, odd = angle.cos(), angle.sin(), x[..., ::2], x[..., 1::2]
    return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)


def sinusoids(n, k):
    i, j = np.arange(n)[:, None], np.arange(k)
    angle = i * 10000.0 ** (-2 * (j // 2) / k)
    return np.where(j % 2 == 0, np.sin(angle), np.cos(angle))


all_of("heads", "float", [2, 3, 5, 4], [2, 3, 7, 4], [2, 3, 7, 3])
all_of("matrix", "double", [17, 4], [16, 4], [16, 2])
all_of("known", "double", [1, 3, 1], [1, 2, 1], [1, 2, 4])
x, k, z = tensor(1, [2, 5, 4]), tensor(2, [2, 5, 4]), tensor(3, [2, 5, 6])
t.summed("large", attention(100 * x, 100 * k, z), "double", 10000)
undefined = x[0].clone()
undefined[1, 2] = torch.nan
t.summed("undefined", attention(undefined, k[0], z[0]), "double", 8)
t.exact("no keys", torch.zeros(2, 4), "float")
t.exact("no queries", torch.zeros(0, 4), "float")
seen = torch.tensor(whole(9, [2, 5, 5], 3) != 0) | torch.eye(5, dtype=torch.bool)
args = [a.clone().requires_grad_() for a in (x, k, z)]
y = attention(*args, seen)
t.summed("mask of each", y.detach(), "double", 8)
for key, value in zip(("dq", "dk", "dv"), torch.autograd.grad(y, args, tensor(4, [2, 5, 6]))):
    t.summed(f"mask of each {key}", value, "double", 8)
parts = [tensor(seed, shape, "float") for seed, shape in ((1, [17, 4]), (2, [17, 4]), (3, [17, 3]))]
t.summed("whole", attention(*parts, causal(17, 17)), "float", 8)
t.summed("steps", attention(*parts, causal(17, 17)), "float", 8)
keys, values = tensor(5, [2, 4, 3]), tensor(6, [2, 4, 2])
keys[:, 2], values[:, 2] = tensor(2, [2, 3]), tensor(3, [2, 2])
t.summed("step y", attention(tensor(1, [2, 3])[:, None], keys[:, :3], values[:, :3])[:, 0], "double", 8)
t.exact("step keys", keys, "double")
t.exact("step values", values, "double")
w, b, o, a = tensor(2, [24, 6]), tensor(3, [24]), tensor(4, [6, 8]), tensor(5, [6])
small = tensor(1, [5, 6], "float") / 4
none = torch.zeros(1, dtype=torch.float64)
own = torch.nn.MultiheadAttention(6, 2, bias=False, batch_first=True, dtype=torch.float64)
with torch.no_grad():
    own.in_proj_weight.copy_(tensor(2, [18, 6]))
    own.out_proj.weight.copy_(tensor(4, [6, 6]))
    t6 = tensor(1, [2, 5, 6])
    assert torch.allclose(own(t6, t6, t6)[0], multi_head(t6, tensor(2, [18, 6]), none, tensor(4, [6, 6]), none, 2, False))
t.summed("multi_head", multi_head(tensor(1, [2, 5, 6]), w, b, o, a, 2, False), "double", 2000)
float_w, float_o = tensor(2, [24, 6], "float"), tensor(4, [6, 8], "float")
t.summed("multi_head no bias", multi_head(small, float_w, none, float_o, none, 4, False), "float", 100)
t.summed("multi_head_causal", multi_head(tensor(1, [2, 5, 6]), w, b, o, a, 2, True), "double", 2000)
t.summed("multi_head_causal no bias", multi_head(tensor(1, [5, 6]), w, none, o, none, 4, True), "double", 2000)
leaves = [a.clone().requires_grad_() for a in (tensor(1, [2, 5, 6]), w / 4, b, o, a)]
for name, y, args, keys in (("multi_head", multi_head(*leaves, 2, False), leaves, ("dx", "dw", "db", "do", "da")),
                            ("multi_head_causal", multi_head(*leaves[:2], none, leaves[3], none, 4, True),
                             [leaves[0], leaves[1], leaves[3]], ("dx", "dw", "do"))):
    for key, value in zip(keys, torch.autograd.grad(y, args, tensor(6, [2, 5, 6]))):
        t.summed(f"{name} {key}", value, "double", 400)
heads = tensor(1, [2, 3, 6], "float")
t.exact("split", heads.unflatten(-1, (3, 2)).transpose(1, 2), "float")
t.exact("merge", heads, "float")
t.summed("rope", rope(tensor(1, [2, 17, 6], "float")), "float", 4)
t.summed("rope far", rope(tensor(1, [3, 4]), 1000), "double", 1000)
turned = x.clone().requires_grad_()
t.summed("rope_back", torch.autograd.grad(rope(turned, 5), turned, k)[0], "double", 16)
t.summed("rope undone", x, "double", 4)
t.summed("sinusoids", sinusoids(17, 7), "float", 1)
t.summed("sinusoids double", 2 * sinusoids(3, 4), "double", 4)
args = [a.clone().requires_grad_() for a in (x, k)]
dx, dk = torch.autograd.grad(attention(*args, z), args, tensor(4, [2, 5, 6]))
d = tensor(7, [2, 5, 4])
t.add("slope", (dx * d).sum() - (dk * d).sum(), "double", absolute=2e-6)
t.write()
