"""A Union of lists and a dict."""

from typing import Dict, List, Union

import torch


def f(x: Union[List[int], Dict[str, int], torch.Tensor]):
    if isinstance(x, List[int]):
        return len(x)
    if torch.jit.isinstance(x, Dict[str, int]):
        return x["a"]
    assert isinstance(x, torch.Tensor)
    return x.numel()


calls = [([1, 2],), ({"a": 5},), (torch.ones(3),)]
