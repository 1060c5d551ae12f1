"""The peer of tests/bench/mlp.c: the same net, batches and solver in PyTorch
with one thread, slices of one tensor and no loader.

	mlp_torch.py HIDDEN1 HIDDEN2 sgd|adam ROWS EPOCHS

Prints the median epoch's nanoseconds of CPU a row, and the mean loss of the
last epoch."""

import sys
import time

import torch

FEATURES = 28
BATCH = 128


def make(rows):
    torch.manual_seed(1)
    x = torch.randn(rows, FEATURES)
    score = (x[:, 1::2] ** 2).sum(1) / 4 + x[:, ::2].sum(1) / 3
    return x, (score > FEATURES / 8).float()


def layers(widths):
    net = []
    for fan_in, fan_out in zip(widths, widths[1:]):
        net += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
    return torch.nn.Sequential(*net[:-1])


def solver(name, net):
    if name == "sgd":
        return torch.optim.SGD(net.parameters(), lr=0.05)
    try:  # the fastest there is
        return torch.optim.Adam(net.parameters(), lr=0.001, fused=True)
    except (RuntimeError, TypeError):
        return torch.optim.Adam(net.parameters(), lr=0.001)


def epoch(net, step, x, y):
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    total = 0.0
    for i in range(0, len(x), BATCH):
        step.zero_grad()
        loss = loss_of(net(x[i : i + BATCH]).squeeze(1), y[i : i + BATCH])
        loss.backward()
        step.step()
        total += loss.item() * len(x[i : i + BATCH])
    return total / len(x)


def main():
    hidden, name = [int(a) for a in sys.argv[1:3]], sys.argv[3]
    rows, epochs = int(sys.argv[4]), int(sys.argv[5])
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    x, y = make(rows)
    net = layers([FEATURES] + [h for h in hidden if h] + [1])
    step = solver(name, net)
    seconds = []
    for _ in range(epochs):
        start = time.process_time()
        mean = epoch(net, step, x, y)
        seconds.append(time.process_time() - start)
    print("%.0f %.4f" % (1e9 * sorted(seconds)[epochs // 2] / rows, mean))


main()
