"""str of values of every type."""

from typing import Dict, List, Optional, Tuple


def f(a: int, b: float, c: bool, d: Optional[str], e: List[int], g: Dict[int, str], h: Tuple[int, float]):
    return str(a), str(b), str(c), str(d), str(e), str(g), str(h), str(None)


calls = [(1, 1.5, True, None, [1], {1: "a"}, (1, 2.0)), (-1, 1e30, False, "s", [], {}, (0, -0.0))]
