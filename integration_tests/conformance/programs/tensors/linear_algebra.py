"""torch.linalg, torch.fft and torch.special."""

import torch


def f(x: torch.Tensor):
    return (
        torch.linalg.norm(x),
        torch.linalg.det(x),
        torch.linalg.inv(x),
        torch.fft.fft(x[0]),
        torch.special.expit(x),
        torch.linalg.solve(x, x),
        torch.fft.fftfreq(4),
    )


calls = [(torch.tensor([[2.0, 1.0], [1.0, 3.0]]),)]
