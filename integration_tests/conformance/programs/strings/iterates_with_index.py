"""enumerate and zip over strings."""

from typing import List


def f(s: str, t: str):
    out: List[str] = []
    for i, c in enumerate(s):
        out.append(str(i) + c)
    for a, b in zip(s, t):
        out.append(a + b)
    return out


calls = [("abc", "xy"), ("", "xy")]
