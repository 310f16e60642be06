"""Pads a list."""

from typing import List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, xs: List[torch.Tensor]):
        longest = max([x.shape[0] for x in xs])
        out = torch.zeros(len(xs), longest)
        for i, x in enumerate(xs):
            out[i, : x.shape[0]] = x + i
        return out, nn.utils.rnn.pad_sequence(xs, batch_first=True)


calls = [([torch.ones(2), torch.zeros(3)],)]
