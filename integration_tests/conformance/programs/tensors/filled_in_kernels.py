"""Tensors of one number that are made as another one is, and copies, in the middle of arithmetic that may be one kernel."""

import math

import torch


def kept(boxes: torch.Tensor, scores: torch.Tensor, threshold: float):
    """Boxes of low scores are moved out of the image."""
    good = scores > threshold
    moved = torch.where(good.unsqueeze(-1), boxes, torch.full_like(boxes, -1.0))
    ranked = torch.where(good, scores, torch.zeros_like(scores)) + torch.ones_like(scores) * 0.5
    return moved, ranked, torch.full_like(scores, -math.inf) - scores, torch.ones_like(good) & good


def labels(x: torch.Tensor):
    smooth = torch.full_like(x, 0.1 / 9)
    hard = (x > 0).to(x.dtype)
    return smooth + hard * 0.9, x.new_zeros(x.size()) + hard, x.new_full(x.size(), 2) * x, x.new_ones(x.size()) - x


def copied(x: torch.Tensor, y: torch.Tensor):
    base = (x * 2).clone()
    base.copy_(y[:1])
    filled = torch.tanh(x).clone()
    filled.fill_(0.75)
    zeroed = torch.exp(x)
    zeroed.zero_()
    return base + x, filled * y, zeroed - y, torch.clone(x, memory_format=torch.contiguous_format) * y


def similar(x: torch.Tensor, y: torch.Tensor):
    """How alike two towers' rows are, and scores as quantiles of a normal distribution."""
    rows = torch.linalg.vecdot(x * 0.5, torch.relu(y))
    return torch.sigmoid(rows), torch.erfinv(torch.tanh(x)) * math.sqrt(2), torch.special.erfinv(y * 0.1) + 1


def f(x: torch.Tensor, y: torch.Tensor, threshold: float):
    boxes = torch.stack([x, y, x + 1, y + 1], -1)
    return kept(boxes, x, threshold), labels(x), copied(x, y), similar(x, y)


torch.manual_seed(0)
calls = [(torch.randn(9, 33).to(dtype), torch.randn(9, 33).to(dtype), 0.25) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)]
calls += [(torch.randn(33, 9).t(), torch.randn(9, 33), 0.0)]
