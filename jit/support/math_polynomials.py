#!/usr/bin/env python3
"""Prints math_polynomials.h: `python3 math_polynomials.py > math_polynomials.h` (needs mpmath).

Each polynomial interpolates a function in the Chebyshev nodes of its interval, computed with 80 digits. Its largest
error is within a small factor of the minimax polynomial's; that error, relative to the function that is wanted, is in
the comment, as bits."""
import mpmath
from mpmath import mpf

mpmath.mp.dps = 80


def interpolate(function, low, high, degree):
    """Coefficients, the constant one first."""
    nodes = [(low + high) / 2 + (high - low) / 2 * mpmath.cos(mpmath.pi * (2 * i + 1) / (2 * degree + 2)) for i in range(degree + 1)]
    matrix = mpmath.matrix(degree + 1, degree + 1)
    values = mpmath.matrix(degree + 1, 1)
    for row, node in enumerate(nodes):
        values[row] = function(node)
        for column in range(degree + 1):
            matrix[row, column] = node**column
    return list(mpmath.lu_solve(matrix, values))


def bits_of_error(function, weight, low, high, coefficients):
    worst = mpf(0)
    for i in range(2001):
        x = low + (high - low) * (mpf(i) + mpf("0.37")) / 2001
        worst = max(worst, abs((mpmath.polyval(coefficients[::-1], x) - function(x)) * weight(x)))
    return float(-mpmath.log(worst, 2))


def erfcx(x):
    return mpmath.exp(x * x) * mpmath.erfc(x)


LN2_HALF = mpmath.log(2) / 2 * mpf("1.001")
ROOT = mpmath.sqrt(2)
QUARTER_PI = mpmath.pi / 4 * mpf("1.001")
K_ERFC = 4


def x_of_t(t):
    return K_ERFC * (1 + t) / (1 - t)


def taylor(function, x, terms):
    """`function` where it is defined without cancellation, else the sum of `terms`, which are its Taylor coefficients."""
    if abs(x) > mpf("1e-6"):
        return function(x)
    return mpmath.polyval(terms[::-1], x)


# name, comment, function, weight that makes the error relative, low, high, {suffix: degree}
POLYNOMIALS = [
    ("Expm1", "(expm1(x) - x) / x^2, |x| <= ln(2) / 2",
     lambda x: taylor(lambda x: (mpmath.expm1(x) - x) / x**2, x, [1 / mpmath.factorial(n + 2) for n in range(8)]),
     lambda x: x**2 / mpmath.expm1(x), -LN2_HALF, LN2_HALF, {"32": 5, "64": 10}),
    ("Exp", "(expm1(x) - x) / x^2, |x| <= ln(2) / 2, relative to exp(x)",
     lambda x: taylor(lambda x: (mpmath.expm1(x) - x) / x**2, x, [1 / mpmath.factorial(n + 2) for n in range(8)]),
     lambda x: x**2 / mpmath.exp(x), -LN2_HALF, LN2_HALF, {"32": 4}),
    ("Log1p", "(log1p(x) - x + x^2 / 2) / x^3, sqrt(1/2) - 1 <= x <= sqrt(2) - 1",
     lambda x: taylor(lambda x: (mpmath.log1p(x) - x + x**2 / 2) / x**3, x, [mpf((-1) ** n) / (n + 3) for n in range(8)]),
     lambda x: x**3 / mpmath.log1p(x), 1 / ROOT - 1, ROOT - 1, {"32": 8}),
    ("Log1pQuotient", "(log1p(x) / s - 2) / z, where s = x / (2 + x), z = s^2: atanh; |s| <= 0.1716",
     lambda z: taylor(lambda z: (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z, z, [mpf(2) / (2 * n + 3) for n in range(8)]),
     lambda z: z / 2, mpf(0), mpf("0.02945"), {"64": 7}),
    ("Sin", "(sin(x) / x - 1) / z, where z = x^2, |x| <= pi / 4",
     lambda z: taylor(lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, z, [mpf((-1) ** (n + 1)) / mpmath.factorial(2 * n + 3) for n in range(8)]),
     lambda z: z * mpmath.sqrt(z) / mpmath.sin(mpmath.sqrt(z)), mpf(0), QUARTER_PI**2, {"32": 3, "64": 6}),
    ("Cos", "(cos(x) - 1 + z / 2) / z^2, where z = x^2, |x| <= pi / 4",
     lambda z: taylor(lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2, z, [mpf((-1) ** n) / mpmath.factorial(2 * n + 4) for n in range(8)]),
     lambda z: z**2 / mpmath.cos(mpmath.sqrt(z)), mpf(0), QUARTER_PI**2, {"32": 2, "64": 6}),
    ("Atan", "(atan(x) / x - 1) / z, where z = x^2, 0 <= x <= 1",
     lambda z: taylor(lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, z, [mpf((-1) ** (n + 1)) / (2 * n + 3) for n in range(8)]),
     lambda z: z * mpmath.sqrt(z) / mpmath.atan(mpmath.sqrt(z)) if z > 0 else mpf(0), mpf(0), mpf(1), {"32": 9, "64": 20}),
    ("Asin", "(asin(x) / x - 1) / z, where z = x^2, 0 <= x <= 1/2",
     lambda z: taylor(lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, z, [mpf(1) / 6, mpf(3) / 40, mpf(15) / 336]),
     lambda z: z * mpmath.sqrt(z) / mpmath.asin(mpmath.sqrt(z)) if z > 0 else mpf(0), mpf(0), mpf("0.25"), {"32": 5, "64": 13}),
    ("Tanh", "(tanh(x) / x - 1) / z, where z = x^2, 0 <= x <= 5/8",
     lambda z: taylor(lambda z: (mpmath.tanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, z, [mpf(-1) / 3, mpf(2) / 15, mpf(-17) / 315]),
     lambda z: z * mpmath.sqrt(z) / mpmath.tanh(mpmath.sqrt(z)) if z > 0 else mpf(0), mpf(0), mpf("0.390625"), {"32": 5}),
    ("Erf", "erf(x) / x, in z = x^2, 0 <= x <= 1",
     lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) if z > 0 else 2 / mpmath.sqrt(mpmath.pi),
     lambda z: mpmath.sqrt(z) / mpmath.erf(mpmath.sqrt(z)) if z > 0 else mpf(1), mpf(0), mpf(1), {"64": 12}),
    ("Erfcx", f"(1 + 2 x) exp(x^2) erfc(x), in t = (x - {K_ERFC}) / (x + {K_ERFC}), 0 <= x <= 28",
     lambda t: (1 + 2 * x_of_t(t)) * erfcx(x_of_t(t)), lambda t: 1 / ((1 + 2 * x_of_t(t)) * erfcx(x_of_t(t))),
     mpf(-1), mpf(24) / 32, {"32": 11, "64": 24}),
]

# Functions of t >= 0 that fall to zero, as a polynomial for each piece of the line, in r = PIECES_PER_UNIT t - i, where
# i is the piece: 0 to 15, t rounded.
PIECES_PER_UNIT, TABLE_PIECES, TABLE_DEGREE = mpf(8) / 3, 16, 5
TABLES = [
    ("GeluTail", "(1 - erf(t / sqrt(2))) / 2; kGeluTail32[k][i] is the coefficient of r^k, where 8 / 3 t = i + r, |r| <= 1/2",
     lambda t: mpmath.erfc(t / ROOT) / 2),
    ("GeluTanhTail", "(1 - tanh(sqrt(2 / pi) (t + 0.044715 t^3))) / 2, likewise",
     lambda t: 1 / (1 + mpmath.exp(2 * mpmath.sqrt(2 / mpmath.pi) * (t + mpf("0.044715") * t**3)))),
]

print("""// The polynomials that generated code (fuser/llvm/math_*.cpp) and kernels (kernels/vector_math.h) evaluate, the constant
// coefficient first; 32 is for f32, 64 for f64. Made by math_polynomials.py, which says how; "error" is the polynomial's
// alone, relative to the function.
#pragma once

namespace hearth::polynomials {
""")
for name, comment, function, weight, low, high, degrees in POLYNOMIALS:
    for suffix, degree in degrees.items():
        coefficients = interpolate(function, low, high, degree)
        bits = bits_of_error(function, weight, low, high, coefficients)
        print(f"// {comment}; error 2^-{bits:.1f}")
        digits = 10 if suffix == "32" else 18
        print(f"inline constexpr double k{name}{suffix}[] = {{")
        for coefficient in coefficients:
            print(f"    {mpmath.nstr(coefficient, digits, min_fixed=0, max_fixed=0)},")
        print("};")
for name, comment, function in TABLES:
    pieces = [interpolate(lambda r: function((piece + r) / PIECES_PER_UNIT), mpf(-1) / 2, mpf(1) / 2, TABLE_DEGREE)
              for piece in range(TABLE_PIECES)]
    # Zero where the last piece ends, and everything beyond it.
    pieces[-1][0] = mpf(0)
    print(f"// {comment}")
    print(f"alignas(64) inline constexpr float k{name}32[][{TABLE_PIECES}] = {{")
    for power in range(TABLE_DEGREE + 1):
        print("    {" + ", ".join(f"{mpmath.nstr(mpmath.chop(piece[power], 1e-30), 9, min_fixed=0, max_fixed=0)}f" for piece in pieces) + "},")
    print("};")
print("\n}  // namespace hearth::polynomials")
