"""any, all, sum of bools, comparisons of shapes."""

import torch


def f(x: torch.Tensor):
    m = x > 1
    return (
        m.any(),
        m.all(),
        m.sum(),
        m.any(0),
        x[m].shape,
        torch.where(m, x, -x),
        torch.where(m)[0],
        m.nonzero(),
        torch.equal(x, x),
        torch.allclose(x, x + 1e-9),
    )


calls = [(torch.tensor([[1.0, 2.0], [3.0, 0.5]]),)]
