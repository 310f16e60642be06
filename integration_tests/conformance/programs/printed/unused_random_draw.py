"""A random draw that nothing uses is not made."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> Tensor:
    _0 = torch.rand([2])
    _1 = torch.rand([3])
    return torch.rand([1])
"""

calls = [{"seed": 3}, {"seed": 4}]
