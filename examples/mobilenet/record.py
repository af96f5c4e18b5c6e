"""Trains the network of mobilenet.sac with PyTorch and records what it computes.

Writes, beside itself,
    weights.npz    the weights, under the names of the fields of `Net`
    recorded.npz   pictures with their labels and places, the output of every layer for the first one, probabilities for all

The pictures are made here: a shape of one color anywhere on a background of blotches and noise. Another version of PyTorch, or
another number of threads, rounds differently and so finds other weights. Needs numpy and torch; takes some minutes.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

SHAPES = ["circle", "square", "triangle", "cross", "ring", "star"]
EXTENT = 48
STEPS = 2000
BATCH = 64
# Input channels, output channels and stride of the blocks.
BLOCKS = [(16, 32, 1), (32, 64, 2), (64, 64, 1), (64, 96, 1)]


def sector(u, v, corners):
    """Points in polar coordinates, turned into the sector around the first of some corners."""
    angle = np.arctan2(v, u)
    width = 2 * np.pi / corners
    return np.hypot(u, v), np.abs((angle + width / 2) % width - width / 2)


def outside(shape, u, v, r):
    """How far a point is outside of a shape within radius r, negative inside; right near the edge only."""
    if shape == "circle":
        return np.hypot(u, v) - 0.85 * r
    if shape == "ring":
        return np.abs(np.hypot(u, v) - 0.75 * r) - 0.2 * r
    if shape == "square":
        return np.maximum(np.abs(u), np.abs(v)) - 0.75 * r
    if shape == "cross":
        long, short = np.maximum(np.abs(u), np.abs(v)), np.minimum(np.abs(u), np.abs(v))
        return np.maximum(long - r, short - 0.25 * r)
    if shape == "triangle":
        rho, angle = sector(u, v, 3)
        return rho * np.cos(np.pi / 3 - angle) - 0.5 * r
    rho, angle = sector(u, v, 5)
    # The line from a tip of the star to the corner between two tips, 0.42 r from the middle.
    x, y = 0.42 * r * np.cos(np.pi / 5), 0.42 * r * np.sin(np.pi / 5)
    return ((rho * np.cos(angle) - r) * y + rho * np.sin(angle) * (r - x)) / np.hypot(y, r - x)


def blotches(rng, n):
    """Smooth noise of three colors: a coarse grid, linear in between."""
    coarse = torch.tensor(rng.normal(0, 0.12, [n, 3, 6, 6]))
    return nn.functional.interpolate(coarse, [EXTENT, EXTENT], mode="bilinear").numpy()


def drawn(rng, canvas, label, row, column, r):
    """Draws a shape in a color unlike the background, turned by any angle."""
    back = canvas.mean((1, 2))
    color = rng.uniform(0, 1, 3)
    while np.abs(color - back).sum() < 0.7:
        color = rng.uniform(0, 1, 3)
    y, x = np.mgrid[:EXTENT, :EXTENT] + 0.5
    turn = rng.uniform(0, 2 * np.pi)
    u = (x - column) * np.cos(turn) + (y - row) * np.sin(turn)
    v = (y - row) * np.cos(turn) - (x - column) * np.sin(turn)
    ink = np.clip(0.5 - outside(SHAPES[label], u, v, r), 0, 1)
    return canvas * (1 - ink) + color[:, None, None] * ink


def backgrounds(rng, n):
    return rng.uniform(0, 1, [n, 3, 1, 1]) + blotches(rng, n)


def as_bytes(rng, x):
    noisy = x + rng.normal(0, 0.06, x.shape)
    return np.clip(np.rint(255 * noisy), 0, 255).astype(np.uint8)


def pictures(rng, labels):
    """A picture for each label, and where its shape is: row, column and radius."""
    n = len(labels)
    x = backgrounds(rng, n)
    r = rng.uniform(7, 12, n)
    row, column = rng.uniform(r, EXTENT - r), rng.uniform(r, EXTENT - r)
    for i in range(n):
        x[i] = drawn(rng, x[i], labels[i], row[i], column[i], r[i])
    return as_bytes(rng, x), np.stack([row, column, r], 1)


def pairs(rng, labels):
    """The same with two shapes, one in the upper left and one in the lower right part."""
    x = backgrounds(rng, len(labels))
    place = np.zeros([*labels.shape, 3])
    for i, two in enumerate(labels):
        for k, label in enumerate(two):
            r = rng.uniform(8, 10)
            row, column = rng.uniform(r, 24 - 0.5 * r, 2) if k == 0 else rng.uniform(24 + 0.5 * r, EXTENT - r, 2)
            x[i] = drawn(rng, x[i], label, row, column, r)
            place[i, k] = row, column, r
    return as_bytes(rng, x), place


def normed(convolution):
    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()]


class Net(nn.Module):
    """Halves of blocks one after the other: convolution, normalisation, relu."""

    def __init__(self):
        super().__init__()
        self.halves = nn.ModuleDict({"stem": nn.Sequential(*normed(nn.Conv2d(3, BLOCKS[0][0], 3, 2, 1, bias=False)))})
        for k, (c, o, stride) in enumerate(BLOCKS, 1):
            depth = nn.Conv2d(c, c, 3, stride, 1, groups=c, bias=False)
            self.halves[f"depth{k}"] = nn.Sequential(*normed(depth))
            self.halves[f"point{k}"] = nn.Sequential(*normed(nn.Conv2d(c, o, 1, bias=False)))
        self.linear = nn.Linear(BLOCKS[-1][1], len(SHAPES))

    def layers(self, x):
        outputs = {}
        for name, half in self.halves.items():
            x = outputs[name] = half(x)
        outputs["pool"] = x.mean((2, 3))
        outputs["linear"] = self.linear(outputs["pool"])
        outputs["softmax"] = outputs["linear"].softmax(1)
        return outputs

    def forward(self, x):
        return self.layers(x)["linear"]


def standardized(x):
    return (torch.tensor(x, dtype=torch.float32) / 255 - 0.5) / 0.25


def trained(rng):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(1, STEPS + 1):
        labels = rng.integers(0, len(SHAPES), BATCH)
        x, _ = pictures(rng, labels)
        loss = nn.functional.cross_entropy(net(standardized(x)), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    return net.eval()


def fields(net):
    """The weights under the names of the records of mobilenet.sac."""
    found = {}
    for name, half in net.halves.items():
        found[f"{name}.k"] = half[0].weight
        found[f"{name}.scale"], found[f"{name}.shift"] = half[1].weight, half[1].bias
        found[f"{name}.mean"], found[f"{name}.variance"] = half[1].running_mean, half[1].running_var
    found["w"], found["b"] = net.linear.weight, net.linear.bias
    return {name: value.detach().numpy() for name, value in found.items()}


def main():
    torch.manual_seed(1)
    net = trained(np.random.default_rng(1))
    folder = Path(__file__).parent
    np.savez_compressed(folder / "weights.npz", **fields(net))

    rng = np.random.default_rng(2)
    labels = np.arange(24) % len(SHAPES)
    x, place = pictures(rng, labels)
    two = np.array([[0, 3], [1, 5], [4, 2], [5, 0]])
    x_two, place_two = pairs(rng, two)
    with torch.no_grad():
        recorded = {name: y.numpy() for name, y in net.layers(standardized(x[:1])).items()}
        probabilities = net.layers(standardized(x))["softmax"].numpy()
        many = rng.integers(0, len(SHAPES), 2000)
        right = net(standardized(pictures(rng, many)[0])).argmax(1).numpy() == many
    print(f"{100 * right.mean():.1f} % of 2000 new pictures, {(probabilities.argmax(1) == labels).sum()} of the 24 recorded ones")
    np.savez_compressed(
        folder / "recorded.npz",
        pictures=x,
        labels=labels.astype(np.int32),
        places=place.astype(np.float32),
        pairs=x_two,
        pair_labels=two.astype(np.int32),
        pair_places=place_two.astype(np.float32),
        probabilities=probabilities,
        **recorded,
    )


if __name__ == "__main__":
    main()
