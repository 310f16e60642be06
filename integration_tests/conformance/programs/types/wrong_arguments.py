"""Arguments of the wrong type, too few, too many, by a wrong name."""


def f(x: int, y: str = "a"):
    return x, y


calls = [
    ("a",),
    (1.5,),
    (),
    (1, "b", 3),
    {"args": (1,), "kwargs": {"z": 1}},
    {"args": (1,), "kwargs": {"x": 1}},
    (None,),
    (True,),
]
