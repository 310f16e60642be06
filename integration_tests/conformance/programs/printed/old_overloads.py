"""Overload names are lost; they are found again by the arguments."""

import torch

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Tensor,
    n: int,
    f: float,
    s: str) -> Tuple[Tensor, Tensor, int, float, float, str, Tensor]:
    return (torch.add(x, n), torch.add(x, x, alpha=3), torch.add(n, 1), torch.add(n, f), torch.mul(f, n), torch.add(s, "!"), torch.rsub(x, f))
"""

calls = [(torch.ones(2), 2, 0.5, "a")]
