"""annotate as an implicit conversion of a tensor."""

import torch

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Tensor) -> Tuple[number, int, float]:
    a = annotate(number, x)
    b = annotate(int, x)
    c = annotate(float, torch.to(x, 6))
    return (a, b, c)
"""

calls = [(torch.tensor(3),), (torch.tensor([3]),)]
