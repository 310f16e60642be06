"""Complex numbers."""

import torch.nn as nn


class Program(nn.Module):
    def forward(self, z: complex, x: float):
        w = complex(x, -1.0)
        return z + w, z * w, z - w, abs(w), z == w, complex(1, 2)


calls = [(1 + 2j, 3.0), (0j, 1.0)]
