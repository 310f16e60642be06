"""Dict literals of many types; a repeated key keeps the last value."""


def f(x: int):
    return {"a": x, "b": 2}, {1: "x", x: "y"}, {"t": [1, 2]}, {1.5: None}, {"k": 1, "k": 2}


calls = [(3,), (1,)]
