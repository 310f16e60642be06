"""Zip and enumerate."""

from typing import List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, numbers: List[int], words: List[str]) -> List[str]:
        out: List[str] = []
        for i, (number, word) in enumerate(zip(numbers, words)):
            out.append(word + str(number) + str(i))
        return out


calls = [([1, 2, 3], ["a", "b", "c"]), ([], []), ([1, 2], ["x"])]
