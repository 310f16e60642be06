"""Attributes of a tensor."""

import torch


def f(x: torch.Tensor):
    return (
        x.shape,
        x.ndim,
        x.T,
        x.dtype == torch.float32,
        x.device,
        x.requires_grad,
        x.is_cuda,
        x.is_sparse,
        x.is_quantized,
        x.layout == torch.strided,
        x.is_leaf,
        x.mT,
        x.data,
        x.is_meta,
        x.is_nested,
        x.is_cpu,
    )


calls = [(torch.arange(6.0).reshape(2, 3),)]
