"""Any narrowed to what it is tested for."""

from typing import Any, List


def f(x: Any):
    if isinstance(x, int):
        return x + 1
    elif isinstance(x, List[str]):
        return len(x)
    return 0


calls = [(5,), (["a", "b"],), (None,)]
