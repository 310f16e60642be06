"""Products with the matrices of a module, written in every way there is, and inputs that they refuse."""

import torch
from torch import Tensor


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.weight = torch.nn.Parameter(torch.randn(4, 6, generator=generator), requires_grad=False)
        self.turned = torch.nn.Parameter(torch.randn(6, 4, generator=generator).t(), requires_grad=False)
        self.bias = torch.nn.Parameter(torch.randn(6, generator=generator), requires_grad=False)
        self.row = torch.nn.Parameter(torch.randn(1, 6, generator=generator), requires_grad=False)

    def forward(self, x: Tensor, how: int) -> Tensor:
        if how == 0:
            rows = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
            return torch.relu(rows.view(x.size(0), -1, 6))
        if how == 1 or how == 3:  # torch.jit takes addmm apart, and refuses other ranks in other words
            assert x.dim() == 2
        if how == 1:
            return torch.addmm(self.bias, x, self.turned, alpha=1, beta=1)
        if how == 2:
            return torch.addmm(self.bias, x, self.weight, alpha=2)
        if how == 3:
            return torch.addmm(self.row, x, self.weight)
        if how == 4:
            return torch.mm(x, self.weight)
        if how == 5:
            return torch.tanh(torch.matmul(x, self.turned))
        if how == 6:
            return x @ self.weight + self.bias
        rows = (x * 2).view(-1, 4)
        back = torch.addmm(self.bias, rows, self.weight).view(x.size(0), x.size(1), 6)
        return torch.nn.functional.gelu(back, approximate="tanh")


INPUTS = [torch.arange(24.0).view(2, 3, 4) / 7, torch.arange(8.0).view(2, 4) / 7, torch.arange(4.0), torch.ones(2, 5),
          torch.ones(0, 4), torch.arange(8.0).view(4, 2).t()]
calls = [(x, how) for x in INPUTS for how in range(8)]
