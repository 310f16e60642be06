"""Elements of lists are references."""


def f():
    inner = [1]
    outer = [inner, inner]
    outer[0].append(2)
    more = outer * 2
    more[3].append(3)
    return outer, more, inner


calls = [()]
