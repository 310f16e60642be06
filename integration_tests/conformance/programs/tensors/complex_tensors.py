"""Complex tensors."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, z):
        return (
            z.conj(),
            z.real,
            z.imag,
            z.abs(),
            z * 2j,
            torch.view_as_real(z),
            torch.complex(z.real, z.imag),
            z.conj().imag,
        )


calls = [(torch.tensor([1 + 2j, 3 - 1j]),)]
