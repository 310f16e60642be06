"""Functions of math with one float argument."""

import math


def f(a: float):
    return (
        math.sin(a),
        math.cos(a),
        math.tan(a),
        math.exp(a),
        math.expm1(a),
        math.sinh(a),
        math.cosh(a),
        math.tanh(a),
        math.atan(a),
        math.asinh(a),
        math.erf(a),
        math.erfc(a),
        math.fabs(a),
        math.degrees(a),
        math.radians(a),
    )


calls = [(0.5,), (-1.25,), (0.0,), (-0.0,), (float("inf"),), (float("nan"),), (710.0,)]
