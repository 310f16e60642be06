"""Ints down to the lowest."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> List[int]:
    return [0, -1, 9223372036854775807, -9223372036854775808, -9223372036854775807]
"""

calls = [()]
