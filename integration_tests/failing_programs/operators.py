"""Operators that refuse their arguments."""

from typing import List

import torch
from torch import Tensor, nn

from integration_tests.failing_programs.registry import program


@program(torch.ones(2, 3), torch.ones(4))
class ShapesThatDoNotFit(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        c = a * 2
        return c + b


@program(torch.ones(3))
class IndexOutOfRange(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[5]


@program(torch.ones(3), torch.tensor([7]))
class IndexTensorOutOfRange(nn.Module):
    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        return x[i]


@program(torch.ones(3))
class DimensionOutOfRange(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, 4)


@program(torch.ones(2, 2, dtype=torch.int64))
class NotImplementedForADtype(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.inv(x)


@program(torch.ones(3).to_sparse())
class NotImplementedForALayout(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, 0)


@program(torch.ones(2))
class BoolOfMany(nn.Module):
    def forward(self, x: Tensor) -> int:
        if x:
            return 1
        return 2


@program(torch.ones(2))
class ItemOfMany(nn.Module):
    def forward(self, x: Tensor) -> float:
        return x.item()


@program(torch.ones(1, 3, 8, 8))
class ConvolutionOfWrongChannels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


@program(torch.tensor([9]))
class EmbeddingOutOfRange(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(x)


@program(torch.ones(3))
class ViewThatDoesNotFit(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, 2)


@program(torch.ones(2, 2), [torch.ones(2, 2), torch.ones(3)])
class ConcatenationThatDoesNotFit(nn.Module):
    def forward(self, x: Tensor, more: List[Tensor]) -> Tensor:
        return torch.cat([x] + more)
