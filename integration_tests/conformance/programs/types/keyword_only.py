"""Keyword-only arguments."""


def f(x: int, *, y: int = 2, z: str):
    return x + y, z


calls = [{"args": (1,), "kwargs": {"z": "a"}}, {"args": (1,), "kwargs": {"z": "a", "y": 5}}, {"args": (1, 2)}]
