"""A class with attributes that __init__ makes."""

from typing import List


class Counter:
    def __init__(self, start: int, name: str = "c"):
        self.n = start
        self.name = name
        self.history: List[int] = []

    def add(self, k: int):
        self.n += k
        self.history.append(self.n)
        return self

    def text(self) -> str:
        return self.name + str(self.n)


def f(a: int):
    c = Counter(a)
    d = c.add(2).add(3)
    d.n = 100
    e = Counter(name="e", start=5)
    return c.text(), d.history, e.text(), c.n


calls = [(1,), (-5,)]
