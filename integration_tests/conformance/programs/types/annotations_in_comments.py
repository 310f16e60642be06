"""Types in a comment."""


def f(x, n):
    # type: (List[int], Optional[int]) -> Tuple[List[int], int]
    m = 0 if n is None else n
    return x, m


calls = [([1], 2), ([], None)]
