"""What a reduction keeps of its rows meets rows of another length, in many models: distances to a codebook, a masked mean,
a gate. No kernel takes the two for rows of one length."""

import torch
from torch import Tensor, nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.codes = nn.Parameter(torch.randn(16, 8))
        self.wider = nn.Linear(8, 24)

    def forward(self, x: Tensor):
        rows = x.reshape(-1, 8)
        distances = rows.pow(2).sum(1, keepdim=True) - 2 * (rows @ self.codes.t()) + self.codes.pow(2).sum(1)
        return distances.argmin(1), distances.amin(1)

    @torch.jit.export
    def gate(self, x: Tensor):
        return self.wider(x) * x.mean(-1, keepdim=True).sigmoid(), self.wider(x).relu() + x.amax(-1, keepdim=True)

    @torch.jit.export
    def parts(self, x: Tensor):
        return x[:, :4] / x.sum(-1, keepdim=True), x[:, 1:] * x.mean(-1, keepdim=True) + 1

    @torch.jit.export
    def pool(self, x: Tensor, mask: Tensor):
        return (x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    @torch.jit.export
    def centred(self, x: Tensor, y: Tensor):
        return (x + y - x.mean(-1, keepdim=True)).exp(), (x * y).softmax(-1) - y.amax(-1, keepdim=True)


def _tensors(*sizes):
    torch.manual_seed(1)
    return [torch.randn(size) for size in sizes]


_MASK = torch.tensor([[True, True, False, True, False], [True, False, False, False, True]])

calls = [
    (*_tensors([6, 8]),),
    (*_tensors([30, 8]),),
    *[{"method": "gate", "args": tuple(_tensors([rows, 8]))} for rows in (6, 2, 6)],
    *[{"method": "parts", "args": tuple(_tensors([rows, 8]))} for rows in (6, 2, 6)],
    *[{"method": "pool", "args": (*_tensors([2, 5, 8]), mask)} for mask in (_MASK, _MASK.float(), _MASK.long())],
    *[{"method": "centred", "args": tuple(_tensors([6, 8], other))} for other in ([6, 8], [8], [6, 1], [6, 7])],
]
