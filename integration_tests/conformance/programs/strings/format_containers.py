"""format of containers, None, bools and tensors."""

from typing import Dict, List, Optional, Tuple


def f(a: List[int], b: List[str], c: Dict[str, float], d: Optional[int], e: Tuple[int, str]):
    return (
        "{}".format(a),
        "{}".format(b),
        "{}".format(c),
        "{}".format(d),
        "{}".format(e),
        "{} {}".format(True, [1.5, 2.0]),
    )


calls = [([1, 2], ["a", "b"], {"x": 1.5}, None, (1, "z")), ([], [], {}, 3, (0, ""))]
