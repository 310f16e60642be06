"""An exception runs every __exit__, innermost first, and goes on."""

from typing import Any, List


class Logs:
    def __init__(self, log: List[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self):
        self.log.append("enter " + self.name)

    def __exit__(self, type: Any, value: Any, tb: Any):
        self.log.append("exit " + self.name)


def f(log: List[str], n: int):
    with Logs(log, "a"):
        with Logs(log, "b"):
            if n > 0:
                raise ValueError("inside")
        log.append("after b")
    return log


calls = [([], 0), ([], 1)]
