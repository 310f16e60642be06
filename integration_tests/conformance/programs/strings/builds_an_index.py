"""Builds an index."""

from typing import Dict, List

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, text: str) -> Dict[str, List[int]]:
        index: Dict[str, List[int]] = {}
        for i, word in enumerate(text.split(" ")):
            if word not in index:
                index[word] = torch.jit.annotate(List[int], [])
            index[word].append(i)
        return index


calls = [("the cat the dog",)]
