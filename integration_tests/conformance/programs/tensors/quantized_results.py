"""Quantized tensors as arguments and results."""

import torch


def f(x: torch.Tensor):
    q = torch.quantize_per_tensor(x, 0.25, 0, torch.qint8)
    return q, q[0], torch.relu(q), q.reshape(-1)


calls = [(torch.tensor([[0.5, -0.3], [1.0, 2.0]]),)]
