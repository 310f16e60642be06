"""Quantized tensors, made and taken apart."""

import torch


def f(x: torch.Tensor):
    q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
    c = torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8)
    return (
        q.dequantize(),
        q.int_repr(),
        q.q_scale(),
        q.q_zero_point(),
        c.dequantize(),
        c.q_per_channel_scales(),
        c.q_per_channel_axis(),
        q.is_quantized,
    )


calls = [(torch.tensor([[0.5, -0.3], [1.0, 2.0]]),)]
