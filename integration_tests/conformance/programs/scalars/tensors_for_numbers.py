"""Tensors as arguments where numbers are declared: one element is taken as Python's int(), float() and so on take it."""

from typing import Dict, List, Optional, Tuple, Union

import torch


def as_int(x: int):
    return x


def as_float(x: float):
    return x


def as_complex(x: complex):
    return x


def as_bool(x: bool):
    return x


def as_optional(x: Optional[int]):
    return x


def in_list(x: List[int]):
    return x


def in_tuple(x: Tuple[int, float]):
    return x


def in_dict(x: Dict[str, float]):
    return x


def of_union(x: Union[int, str]):
    return x


numbers = [
    torch.tensor(3),
    torch.tensor(-3, dtype=torch.int8),
    torch.tensor(2**63 - 1),
    torch.tensor(2.5),
    torch.tensor(-0.5, dtype=torch.float64),
    torch.tensor(2.5, dtype=torch.bfloat16),
    torch.tensor(2.5, requires_grad=True),
    torch.tensor(True),
    torch.tensor([[7]]),
    torch.tensor(1.5 + 0j),
    torch.tensor(-(2.0**63), dtype=torch.float64),
    # What int() refuses, and some of the others.
    torch.tensor(1 + 2j),
    torch.tensor(float("nan")),
    torch.tensor(2.0**63, dtype=torch.float64),
    torch.tensor([1, 2]),
    torch.tensor([]),
]
calls = {f: [(x,) for x in numbers] for f in ("as_int", "as_float", "as_complex", "as_bool", "as_optional")}
calls["in_list"] = [([x, x],) for x in numbers[:8]]
calls["in_tuple"] = [((x, x),) for x in numbers[:8]]
calls["in_dict"] = [({"a": x},) for x in numbers[:8]]
calls["of_union"] = [(numbers[0],)]
