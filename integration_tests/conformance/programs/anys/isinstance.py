"""isinstance of Any."""

from typing import Any, Dict, List, Tuple

import torch


def f(x: Any):
    if isinstance(x, int):
        return "int"
    if isinstance(x, str):
        return "str"
    if isinstance(x, float):
        return "float"
    if isinstance(x, torch.Tensor):
        return "tensor"
    if isinstance(x, List[int]):
        return "ints"
    if isinstance(x, Tuple[int, str]):
        return "pair"
    if isinstance(x, Dict[str, int]):
        return "dict"
    return "other"


calls = [(1,), ("a",), (2.5,), (torch.ones(1),), ([1],), ((1, "a"),), ({"a": 1},), (True,), (None,)]
