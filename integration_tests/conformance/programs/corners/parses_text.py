"""Parses text."""

from typing import Dict, Optional

import torch.nn as nn


class Program(nn.Module):
    def forward(self, text: str) -> Dict[str, Optional[int]]:
        out: Dict[str, Optional[int]] = {}
        for part in text.split(";"):
            if len(part) == 0:
                continue
            pieces = part.split("=")
            if len(pieces) == 2 and pieces[1].isdigit():
                out[pieces[0]] = int(pieces[1])
            else:
                out[part] = None
        return out


calls = [("a=1;b=2;;c",), ("",)]
