"""Loop whose condition never changes."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, text: str, again: torch.Tensor):
        if "a" in text[1]:
            while bool(again):
                pass
        return 1


calls = [("ab", torch.tensor(False)), ("a", torch.tensor(False)), ("a", torch.tensor(True))]
