"""References for nn-activation.sac: torch in double precision, on inputs rounded to the type.

The slope of torch's own hardsigmoid is a float in double precision, too; a formula stands for it.
"""

import torch
import torch.nn.functional as F

from cases import Table, noise

t = Table()


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def both(name, f, x, dy, kind):
    x = x.clone().requires_grad_()
    y = f(x)
    t.summed(name, y.detach(), kind, 2)
    t.summed(f"{name}_back", torch.autograd.grad(y, x, dy)[0], kind, 2)


for kind in ("float", "double"):
    x, dy = 2 * tensor(1, [2, 17], kind), tensor(2, [2, 17], kind)
    tanh = lambda x: F.gelu(x, approximate="tanh")
    for name, f in (("relu", F.relu), ("selu", F.selu), ("gelu", F.gelu), ("gelu_tanh", tanh), ("silu", F.silu),
                    ("mish", F.mish), ("softplus", lambda x: F.softplus(x, threshold=100)), ("softsign", F.softsign),
                    ("hard_sigmoid", lambda x: (x / 6 + 0.5).clamp(0, 1)), ("hard_swish", F.hardswish), ("logistic", torch.sigmoid),
                    ("leaky_relu", lambda x: F.leaky_relu(x, 0.1)), ("elu", lambda x: F.elu(x, 1.5)),
                    ("celu", lambda x: F.celu(x, 1.5)), ("clipped", lambda x: F.hardtanh(x, 0.0, 2.0))):
        both(name, f, x, dy, kind)
    slope = tensor(3, [17], kind).requires_grad_()
    xs = x.clone().requires_grad_()
    y = F.prelu(xs, slope)
    dx, ds = torch.autograd.grad(y, (xs, slope), dy)
    for name, value in (("prelu", y.detach()), ("prelu_back", dx), ("prelu_back slope", ds)):
        t.summed(name, value, kind, 8)
    z, dz = tensor(4, [3, 4, 5], kind), tensor(5, [3, 4, 5], kind)
    back = lambda f: (lambda a: torch.autograd.grad(f(a), a, dz)[0])(z.clone().requires_grad_())
    for name, value in (("glu", F.glu(z, 1)), ("softmax", z.softmax(-1)), ("softmax 1", z.softmax(1)),
                        ("softmax_back", back(lambda a: a.softmax(1))), ("log_softmax", z.log_softmax(0)),
                        ("log_softmax_back", back(lambda a: a.log_softmax(-1)))):
        t.summed(name, value, kind, 4)
t.write()
