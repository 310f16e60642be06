"""A list of tuples sorted, element by element."""

from typing import List, Tuple


def f(l: List[Tuple[int, str]]):
    return sorted(l)


calls = [([(2, "a"), (1, "b"), (1, "a")],)]
