"""A class whose attribute is of its own type."""

from typing import List, Optional


class Node:
    def __init__(self, v: int):
        self.v = v
        self.next: Optional[Node] = None


def f(n: int):
    head: Optional[Node] = None
    for i in range(n):
        node = Node(i)
        node.next = head
        head = node
    out: List[int] = []
    while head is not None:
        out.append(head.v)
        head = head.next
    return out


calls = [(4,), (0,)]
