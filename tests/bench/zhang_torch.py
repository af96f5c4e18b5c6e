"""Zhang's network in PyTorch: the same arithmetic, batches and initial weights as examples/mnist/zhang.sac.

Prints one line, `seconds error...`: the time of the training loop and the mean error of every epoch. Data are in
memory before the clock starts, and a short training run warms the libraries up.
"""
import argparse
import gzip
import struct
import time

import torch
import torch.nn.functional as F


def read_idx(path):
    data = gzip.open(path).read()
    rank = data[3]
    shape = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
    return torch.frombuffer(bytearray(data[4 + 4 * rank :]), dtype=torch.uint8).reshape(shape)


def initial_weights():
    shapes = [((6, 1, 5, 5), 25), ((6,), 6), ((12, 6, 5, 5), 150), ((12,), 12), ((10, 192), 192), ((10,), 10)]
    return [torch.full(shape, 1.0 / unit, requires_grad=True) for shape, unit in shapes]


def step(weights, images, targets, rate):
    k1, b1, k2, b2, fc, b = weights
    x = F.avg_pool2d(torch.sigmoid(F.conv2d(images, k1, b1)), 2)
    x = F.avg_pool2d(torch.sigmoid(F.conv2d(x, k2, b2)), 2)
    out = torch.sigmoid(F.linear(x.flatten(1), fc, b))
    loss = 0.5 * ((out - targets) ** 2).sum()
    gradients = torch.autograd.grad(loss / len(images), weights)
    with torch.no_grad():
        for weight, gradient in zip(weights, gradients):
            weight.sub_(gradient, alpha=rate)
    return loss.item()


def train(images, targets, epochs, batch, rate):
    weights = initial_weights()
    errors = []
    for _ in range(epochs):
        starts = range(0, len(images) - batch + 1, batch)
        total = sum(step(weights, images[i : i + batch], targets[i : i + batch], rate) for i in starts)
        errors.append(total / len(images))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--images", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=float, default=0.05)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    images = read_idx(f"{options.folder}/train-images-idx3-ubyte.gz")[: options.images, None].float()
    labels = read_idx(f"{options.folder}/train-labels-idx1-ubyte.gz")[: options.images].long()
    targets = F.one_hot(labels, 10).float()
    train(images[: 5 * options.batch], targets[: 5 * options.batch], 1, options.batch, options.rate)
    start = time.perf_counter()
    errors = train(images, targets, options.epochs, options.batch, options.rate)
    print(time.perf_counter() - start, *errors)


main()
