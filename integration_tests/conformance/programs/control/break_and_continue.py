"""break and continue in nested loops."""

from typing import List


def f(n: int):
    out: List[int] = []
    for i in range(n):
        if i == 1:
            continue
        j = 0
        while j < n:
            j += 1
            if j == 2:
                continue
            if j > 3:
                break
            out.append(i * 10 + j)
        if i == 3:
            break
    return out


calls = [(5,), (2,), (0,)]
