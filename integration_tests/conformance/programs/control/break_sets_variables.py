"""What was set before a break is kept."""

from typing import List


def f(l: List[int]):
    last = -1
    count = 0
    for x in l:
        last = x
        if x > 2:
            break
        count += 1
    return last, count


calls = [([1, 2, 3, 4],), ([],), ([5],)]
