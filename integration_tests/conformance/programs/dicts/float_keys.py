"""Float keys: zeros, and nan, which is never found."""

from typing import Dict


def f(d: Dict[float, int]):
    nan = float("nan")
    d[0.0] = 1
    d[-0.0] = 2
    d[nan] = 3
    d[nan] = 4
    return len(d), d[0.0], nan in d, list(d.keys())


calls = [({},)]
