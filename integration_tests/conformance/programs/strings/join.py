"""join of a list."""

from typing import List


def f(s: str, l: List[str]):
    return s.join(l)


calls = [(",", ["a", "b"]), ("", ["x"]), (", ", []), ("ab", ["", ""])]
