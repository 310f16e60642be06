import math
from typing import List

import torch
import torch.nn as nn

from . import call, program


@program(call(7, 2), call(-7, 2), call(7, -2), call(-7, -2), call(6, 3), call(2**62, 5))
class IntegerArithmetic(nn.Module):
    def forward(self, a: int, b: int):
        return a + b, a - b, a * b, a // b, a % b, a / b, divmod(a, b), -a, abs(a), a**2, a & b, a | b, a ^ b


@program(call(7, 0), call(-7, 0))
class IntegerFloorDivisionByZero(nn.Module):
    def forward(self, a: int, b: int):
        return a // b


@program(call(7.5, 2.0), call(-7.5, 2.0), call(7.5, -0.5), call(1e300, 1e300), call(0.1, 0.3))
class FloatArithmetic(nn.Module):
    def forward(self, a: float, b: float):
        return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), a**2.0, a < b, a == b


@program(call(1.0), call(0.0), call(-1.0))
class FloatDivisionByZero(nn.Module):
    def forward(self, a: float):
        return a / 0.0


@program(call(3, 2.5), call(-3, 0.5))
class MixedArithmetic(nn.Module):
    def forward(self, a: int, b: float):
        return a + b, b - a, a * b, a / b, a // b, a % b, a**b, a < b, max(a, 4), min(b, 1.0), max(b, float(a))


@program(call(3, 2), call(-8, 70), call(1, 62))
class Shifts(nn.Module):
    def forward(self, a: int, n: int):
        return a << n, a >> n


@program(call(2.5), call(3.5), call(-2.5), call(2.4999), call(1e10))
class Rounding(nn.Module):
    def forward(self, x: float):
        return round(x), math.floor(x), math.ceil(x), int(x)


@program(call(float("nan")), call(float("inf")))
class RoundingOfNotFinite(nn.Module):
    def forward(self, x: float):
        return math.floor(x)


@program(call(0.7), call(2.0))
class MathFunctions(nn.Module):
    def forward(self, x: float):
        return [
            math.sqrt(x), math.exp(x), math.log(x), math.log10(x), math.log1p(x), math.sin(x),
            math.cos(x), math.tan(x), math.atan(x), math.atan2(x, 2.0), math.sinh(x), math.cosh(x), math.tanh(x),
            math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x), math.pow(x, 3.0), math.fabs(-x),
            math.copysign(x, -1.0), math.fmod(x, 0.3), math.degrees(x), math.radians(x), math.expm1(x),
        ]


@program(call(12, 18), call(0, 5))
class MathOnIntegers(nn.Module):
    def forward(self, a: int, b: int):
        return math.gcd(a, b), math.factorial(a % 6), math.isnan(float(a)), math.isinf(a / 1.0), math.ldexp(1.5, a % 7)


@program(call(-1.0))
class MathDomain(nn.Module):
    def forward(self, x: float):
        return math.sqrt(x), math.log(x)


@program(call(5), call(-5))
class Casts(nn.Module):
    def forward(self, n: int):
        return float(n), bool(n), str(n), int(2.9), int("42"), float("1.25"), int(True), bool(0.0), str(1.5), str(True)


@program(call("12x"), call(""), call("9"))
class ParsesIntegers(nn.Module):
    def forward(self, text: str) -> int:
        return int(text)


@program(call("1.5e3"), call("nan"), call("one"))
class ParsesFloats(nn.Module):
    def forward(self, text: str) -> float:
        return float(text)


@program(call(torch.tensor(3)), call(torch.tensor(2.7)), call(torch.tensor([1, 2])))
class TensorToScalar(nn.Module):
    def forward(self, x: torch.Tensor):
        return int(x), float(x), bool(x), x.item()


@program(call(1 + 2j, 3.0), call(0j, 1.0))
class ComplexNumbers(nn.Module):
    def forward(self, z: complex, x: float):
        w = complex(x, -1.0)
        return z + w, z * w, z - w, abs(w), z == w, complex(1, 2)


@program(call([3, 1, 2]), call([7]), call([]))
class Reductions(nn.Module):
    def forward(self, values: List[int]):
        return sum(values), min(values), max(values), any([v > 2 for v in values]), all([v > 0 for v in values])


@program(call(3.7, 2), call(-0.0, 5))
class NumberInTensorArithmetic(nn.Module):
    def forward(self, a: float, n: int):
        x = torch.arange(3)
        return x + a, x * n, a - x, x / n, x**n, n * x.float() - a, x == n, x < a


@program(call(10, 3))
class AugmentedAssignment(nn.Module):
    def forward(self, a: int, b: int):
        c = float(a)
        a += b
        a *= 2
        a -= 1
        c /= 4
        x = torch.ones(2)
        x += a
        x *= c
        values = [1]
        values += [a]
        return a, c, x, values


@program(call(2**62), call(-(2**63)))
class Overflow(nn.Module):
    def forward(self, a: int):
        return a + a, a * 3, -a, a - 1


@program(call(5))
class Hashes(nn.Module):
    def forward(self, n: int):
        return hash(n), hex(255), oct(8), bin(5), ord("a"), chr(98)
