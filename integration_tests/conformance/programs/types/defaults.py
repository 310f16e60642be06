"""Defaults of every kind."""

from typing import Optional, Tuple


def f(
    a: int = -3,
    b: float = 1e-5,
    c: str = "x\n",
    d: bool = True,
    e: Optional[int] = None,
    g: Tuple[int, str] = (1, "z"),
    h: float = float("inf"),
):
    return a, b, c, d, e, g, h


calls = [(), (5,), {"kwargs": {"c": "y", "h": 2.0}}]
