"""Zhang's network under DistributedDataParallel with gloo: each rank has its part of every batch."""
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from launched import batch, coordinator, epochs, images, rank, ranks, report, runs, share
from peers import RATE, initial_weights, training_set
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
dist.init_process_group("gloo", init_method=f"tcp://{coordinator}", rank=rank, world_size=ranks)
x, wanted = (torch.from_numpy(a[:, share].copy()) for a in training_set(images, batch))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(map(torch.from_numpy, initial_weights()))

    def forward(self, x):
        k1, b1, k2, b2, fc, b = self.weights
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(x[:, None], k1, b1)), 2)
        h = F.avg_pool2d(torch.sigmoid(F.conv2d(h, k2, b2)), 2)
        return torch.sigmoid(F.linear(h.flatten(1), fc, b))


def train(epochs, batches):
    network = DistributedDataParallel(Network(), gradient_as_bucket_view=True, static_graph=True)
    descent = torch.optim.SGD(network.parameters(), RATE)
    for _ in range(epochs):
        total = torch.zeros((), dtype=torch.float64)
        for pixels, outputs in zip(x[:batches], wanted):
            descent.zero_grad()
            error = 0.5 * ((network(pixels) - outputs) ** 2).sum()
            # DDP takes the mean of the ranks' gradients.
            (error * (ranks / batch)).backward()
            descent.step()
            total += error.detach()
        dist.all_reduce(total)
    return float(total) / (len(x) * batch)


report(lambda: train(epochs, len(x)), lambda: train(1, 5), dist.barrier)
dist.destroy_process_group()
