"""zip of three, enumerate of zip, zip of enumerate."""

from typing import List


def f(a: List[int], b: List[float]):
    out: List[float] = []
    for x, y, z in zip(a, b, range(10)):
        out.append(x + y + z)
    for i, (x, y) in enumerate(zip(a, b)):
        out.append(i * x * y)
    for (i, x), y in zip(enumerate(a), b):
        out.append(i + x - y)
    return out


calls = [([1, 2], [0.5, 0.25]), ([], [])]
