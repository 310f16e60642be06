"""A write that raises, to what nobody reads again: it is made where a tuple took it from one function to another, and is
dead where the tuple was taken apart in the function that made it."""

from typing import List, NamedTuple, Tuple

import torch


class Pair(NamedTuple):
    first: torch.Tensor
    second: int


def write(pair: Tuple[torch.Tensor, int]) -> int:
    pair[0].expand(3, 4).add_(1)
    return pair[1]


def write_named(pair: Pair) -> int:
    pair.first.expand(3, 4).add_(1)
    return pair.second


def pair_of_two() -> Tuple[torch.Tensor, int]:
    return torch.zeros(4), 2


def second(pair: Tuple[List[int], int]) -> int:
    return pair[1]


def argument(x: torch.Tensor) -> int:
    return write((torch.zeros(4), x.dim()))


def named_argument(x: torch.Tensor) -> int:
    return write_named(Pair(torch.zeros(4), x.dim()))


def result(x: torch.Tensor) -> int:
    a, b = pair_of_two()
    a.expand(3, 4).add_(1)
    return b


def one_of_two(x: torch.Tensor) -> int:
    pair = (torch.zeros(4), 2)
    if bool(x[0] > 0):
        pair = (torch.ones(4), 3)
    a, b = pair
    a.expand(3, 4).add_(1)
    return 1


def list_that_only_the_caller_writes(x: torch.Tensor) -> int:
    numbers = [x.dim()]
    n = second((numbers, 1))
    numbers.clear()
    numbers.pop()
    return n


def local(x: torch.Tensor) -> int:
    pair = (torch.zeros(4), 2)
    pair[0].expand(3, 4).add_(1)
    a, b = pair
    a.expand(3, 4).add_(1)
    return b


def local_in_a_tuple(x: torch.Tensor) -> int:
    for pair in ((torch.zeros(4), 1), (torch.ones(4), 1)):
        pair[0].expand(3, 4).add_(1)
    return x.dim()


calls = {
    function: [(torch.zeros(1),)]
    for function in (
        "argument", "named_argument", "result", "one_of_two", "list_that_only_the_caller_writes", "local",
        "local_in_a_tuple",
    )
}  # fmt: skip
