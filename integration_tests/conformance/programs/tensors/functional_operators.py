"""Functions of torch.nn.functional that are operators."""

import torch
import torch.nn.functional as F


def f(x: torch.Tensor, w: torch.Tensor):
    return (
        F.linear(x, w),
        F.gelu(x),
        F.conv1d(x.unsqueeze(0), w.unsqueeze(2)),
        F.softplus(x),
        F.one_hot(torch.tensor([0, 2]), 3),
        F.logsigmoid(x),
        F.pairwise_distance(x, x),
    )


calls = [(torch.ones(2, 2), torch.eye(2))]
