"""Operators with several results, unpacked and as tuples."""

import torch

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Tensor) -> Tuple[Tensor, Tensor, Tuple[Tensor, Tensor]]:
    _0, _1 = torch.max(x, 0)
    a, b = torch.sort(x)
    return (_0, b, (a, _1))
"""

calls = [(torch.tensor([3.0, 1.0, 2.0]),)]
