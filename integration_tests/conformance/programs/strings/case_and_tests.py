"""Case and tests."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, s: str):
        return (
            s.upper(),
            s.lower(),
            s.title(),
            s.capitalize(),
            s.swapcase(),
            s.isalpha(),
            s.isdigit(),
            s.isspace(),
            s.isupper(),
            s.islower(),
            s.istitle(),
            s.isalnum(),
            s.isidentifier(),
            len(s),
        )


calls = [("hello World",), ("",), ("ÀÉ x",)]
