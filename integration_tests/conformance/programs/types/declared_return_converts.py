"""The declared result widens what is returned."""

from typing import Any, List, Optional, Tuple, Union


def f(x: int) -> Optional[int]:
    return x


def g(x: int) -> Tuple[int, Optional[str]]:
    return x, None


def h(x: int) -> List[float]:
    return []


def i(x: int) -> Any:
    return x


def j(x: int) -> Union[int, str]:
    if x > 0:
        return x
    return "neg"


calls = {"f": [(1,)], "g": [(1,)], "h": [(1,)], "i": [(1,)], "j": [(1,), (-1,)]}
