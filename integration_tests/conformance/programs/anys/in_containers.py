"""Any in lists, tuples and dicts."""

from typing import Any, Dict, List

import torch


def f(x: Any, y: int):
    a: List[Any] = [x, y, "z", None]
    b: Dict[str, Any] = {"x": x, "y": y}
    return a, b, (x, y)


calls = [("s", 1), (torch.ones(1), 2)]
