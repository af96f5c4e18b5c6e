"""References for nn-batch.sac: NumPy and torch on whole numbers; draws are judged there by their moments."""

import numpy as np
import torch
import torch.nn.functional as F

from cases import EPS, Table, noise, whole

t = Table()
for kind in ["float", "double"]:
    t.exact("glorot_uniform", [1, 1], "bool")
    t.exact("glorot_uniform reach", [1, 1, 1], "bool")
    for name in ["glorot_normal", "he_uniform", "he_normal", "lecun_normal"]:
        t.exact(name, [1, 1], "bool")
    t.exact("none", np.zeros((0, 3)), kind)
    t.add("rows", np.eye(5), kind, absolute=10 * 17 * EPS[kind])
    t.add("columns", 4 * np.eye(9), kind, absolute=10 * 16 * 4 * EPS[kind])
    t.elementwise("one", [[1]], kind)
    t.exact("no rows", np.zeros((0, 3)), kind)

t.exact("every number", np.ones(17), "int")
t.exact("no order", np.zeros(0), "int")
at = whole(2, [7], 5)
t.exact("vector", whole(3, [5], 100)[at[3:6]], "int")
t.exact("planes", noise(4, [5, 2, 3], "float")[at], "float")
t.exact("bools", whole(5, [5, 2], 2)[at[4:6]] == 1, "bool")
t.exact("empty", np.zeros((0, 2)), "double")
column = lambda v, d: np.reshape(v, (-1,) + (1,) * d)
t.summed("standard", (noise(1, [2, 3, 4], "float") - column([0.5, 0, -1], 1)) / column([2, 1, 0.5], 1), "float", 1)
t.summed("standard plane", (noise(1, [2, 1, 3, 2]) - 0.5) / 2, "double", 1)
t.exact("windows", True, "bool")
t.exact("places", [0, 3, 0, 1], "int")
t.exact("whole", whole(6, [2, 3, 5], 100), "int")
t.exact("bordered", np.pad(whole(6, [2, 1, 3, 2], 100), [(0, 0), (0, 0), (1, 1), (1, 1)]), "int")
t.exact("kept or turned", True, "bool")
t.exact("half of them", True, "bool")


def quantize(x, scale):
    return torch.quantize_per_tensor(torch.tensor(x, dtype=torch.float32), scale, 0, torch.qint8).int_repr()


t.exact("quantize", quantize(noise(1, [3, 5], "float"), 0.03125), "byte")
t.exact("reach", [127, -128, 0, 2, -2, 0], "byte")
t.exact("scalar", quantize(3.0, 0.5), "byte")
q = whole(2, [6, 17], 256) - 128
t.elementwise("dequantize", q * 0.1, "double", 1)
t.exact("product", q @ (whole(3, [17, 15], 256) - 128), "int")
t.exact("no columns", np.zeros((2, 3)), "int")
x = torch.tensor(whole(4, [2, 4, 7, 6], 256) - 128)
w = torch.tensor(whole(5, [6, 4, 3, 2], 256) - 128)
t.exact("conv", F.conv2d(x, w), "int")
t.exact("conv strides", F.conv2d(x, w, stride=2, padding=1, dilation=2), "int")
same = F.conv2d(x.double(), torch.tensor(whole(5, [6, 2, 3, 2], 256) - 128).double(), groups=2, padding="same")
t.exact("conv groups", same, "int")
t.exact("sums", F.conv2d(x, w) * 0.25, "float")
t.write()
