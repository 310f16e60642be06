"""Keys of other types."""

from typing import Dict


def f():
    a: Dict[bool, int] = {True: 1, False: 2}
    b: Dict[complex, int] = {1j: 1, 2j: 2}
    a[True] += 5
    return a, b[1j], len(b)


calls = [()]
