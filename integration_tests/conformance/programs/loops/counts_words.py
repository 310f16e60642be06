"""Counts words."""

from typing import Dict, List

import torch.nn as nn


class Program(nn.Module):
    def forward(self, words: List[str]) -> Dict[str, int]:
        counts: Dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        return counts


calls = [(["a", "b", "a", "c", "a"],), ([],)]
