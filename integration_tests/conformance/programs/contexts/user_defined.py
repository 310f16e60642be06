"""A context manager of one's own: what it does, and in what order."""

from typing import Any, List


class Logs:
    def __init__(self, log: List[str], name: str):
        self.log = log
        self.name = name

    def __enter__(self):
        self.log.append("enter " + self.name)
        return self.name

    def __exit__(self, type: Any, value: Any, tb: Any):
        self.log.append("exit " + self.name)


def f():
    log: List[str] = []
    with Logs(log, "a") as a, Logs(log, "b"):
        log.append("in " + a)
        with Logs(log, "c"):
            log.append("inner")
    return log


calls = [()]
