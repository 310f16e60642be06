"""Compressed sparse tensors."""

import torch


def f(x: torch.Tensor):
    c = x.to_sparse_csr()
    return c.crow_indices(), c.col_indices(), c.values(), c.to_dense(), c @ x.t(), c.layout == torch.sparse_csr


calls = [(torch.tensor([[1.0, 0, 2], [0, 0, 3]]),)]
