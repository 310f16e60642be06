"""Any through containers."""

from typing import Any, Dict

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: Any) -> Dict[str, Any]:
        return {"x": x, "n": 1, "l": [x]}


calls = [(1,), ("two",), (None,), ([1],)]
