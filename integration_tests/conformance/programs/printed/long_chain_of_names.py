"""Names hoisted and used from other files of the archive."""

import torch

code = r"""
def relu_twice(x: Tensor,
    k: int=3) -> Tensor:
  for _0 in range(k):
    x = torch.relu(torch.sub(x, 0.5))
  return x
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Tensor) -> Tensor:
    _0 = __torch__.relu_twice
    y = _0(x, 2, )
    return y
"""

calls = [(torch.tensor([-1.0, 2.0]),)]
