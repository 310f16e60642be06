"""What an early return gives is computed again where there was none."""

from typing import Tuple


def f(n: int) -> Tuple[int, float]:
    if n < 0 and n > -5:
        if True:
            return (n + n, 1.0)
    return (n + n, 1.0)


calls = [(4,), (-3,), (-7,)]
