"""How floats print."""


def f(a: float):
    return str(a), "{}".format(a), "%s" % a, [a]


calls = [
    (1.0,),
    (0.1,),
    (1e20,),
    (1e16,),
    (123456.789,),
    (1e-5,),
    (-0.0,),
    (float("inf"),),
    (float("nan"),),
    (1e100,),
    (100000.0,),
    (1234567.0,),
]
