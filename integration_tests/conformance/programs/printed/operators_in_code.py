"""Infix operators, which no printer writes."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    a: int,
    b: int) -> Tuple[int, float, bool, int, bool]:
    return (a + b * 2, a / b, a < b and not a == b, -a if a > b else b, a in [1, b])
"""

calls = [(1, 2), (4, 2)]
