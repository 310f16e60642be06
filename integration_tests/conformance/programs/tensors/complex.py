"""Complex tensors and their views."""

import torch


def f(x: torch.Tensor):
    return (
        x.real,
        x.imag,
        x.conj(),
        x.abs(),
        x.angle(),
        torch.view_as_real(x),
        x * 1j,
        x + (1 + 2j),
        x.is_complex(),
        x.conj().resolve_conj(),
        torch.real(x.conj()),
        x.conj().imag,
    )


calls = [(torch.tensor([1 + 2j, -3j]),), (torch.tensor([1 + 2j], dtype=torch.complex128),)]
