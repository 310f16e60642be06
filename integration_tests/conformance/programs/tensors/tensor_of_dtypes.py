"""torch.tensor of numbers and its dtypes."""

import torch


def f(a: int, b: float, c: bool, d: complex):
    return (
        torch.tensor(a),
        torch.tensor(b),
        torch.tensor(c),
        torch.tensor(d),
        torch.tensor([a, 2]),
        torch.tensor([b]),
        torch.tensor(a, dtype=torch.float16),
        torch.tensor([[a], [a]]),
        torch.as_tensor(b),
        torch.scalar_tensor(a),
    )


calls = [(3, 2.5, True, 1 + 2j)]
