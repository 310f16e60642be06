"""break, continue and return leave the context in order."""

from typing import Any, List


class Logs:
    def __init__(self, log: List[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self):
        self.log.append("+" + self.name)

    def __exit__(self, type: Any, value: Any, tb: Any):
        self.log.append("-" + self.name)


def g(log: List[str], n: int) -> int:
    for i in range(5):
        with Logs(log, str(i)):
            if i == n:
                break
            if i == 1:
                continue
            log.append("body")
    with Logs(log, "r"):
        if n == 0:
            return 1
        log.append("not returned")
    return 2


def f(n: int):
    log: List[str] = []
    r = g(log, n)
    return log, r


calls = {"f": [(0,), (3,)]}
