"""Sparse tensors, made and taken apart."""

import torch


def f(x: torch.Tensor, i: torch.Tensor, v: torch.Tensor):
    s = torch.sparse_coo_tensor(i, v, [2, 3])
    c = s.coalesce()
    return (
        x.to_sparse(),
        s,
        c.indices(),
        c.values(),
        s.to_dense(),
        torch.sparse.mm(s, x.t()),
        s.is_sparse,
        s.sparse_dim(),
        s._nnz(),
    )


calls = [(torch.tensor([[1.0, 0, 2], [0, 0, 3]]), torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([3.0, 4.0, 5.0]))]
