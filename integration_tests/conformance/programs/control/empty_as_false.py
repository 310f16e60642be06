"""Lists, dicts and strings as conditions: empty ones are false."""

from typing import Dict, List, Tuple


def f(l: List[int], d: Dict[str, int], s: str):
    n = 0
    while l:
        n += l.pop()
    return n, not d, bool(s), 1 if d else 2, s and d


def g(t: Tuple[int, int]):
    return 1 if t else 2


calls = {"f": [([1, 2], {"a": 1}, "x"), ([], {}, "")], "g": [((1, 2),)]}
