"""Math functions."""

import math

import torch.nn as nn


class Program(nn.Module):
    def forward(self, x: float):
        return [
            math.sqrt(x),
            math.exp(x),
            math.log(x),
            math.log10(x),
            math.log1p(x),
            math.sin(x),
            math.cos(x),
            math.tan(x),
            math.atan(x),
            math.atan2(x, 2.0),
            math.sinh(x),
            math.cosh(x),
            math.tanh(x),
            math.erf(x),
            math.erfc(x),
            math.gamma(x),
            math.lgamma(x),
            math.pow(x, 3.0),
            math.fabs(-x),
            math.copysign(x, -1.0),
            math.fmod(x, 0.3),
            math.degrees(x),
            math.radians(x),
            math.expm1(x),
        ]


calls = [(0.7,), (2.0,)]
