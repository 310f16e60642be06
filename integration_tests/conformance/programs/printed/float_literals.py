"""Floats as they are printed: 17 digits, points at the end, inf and nan."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> List[float]:
    return [0.10000000000000001, 3., -0., 1e+20, inf, -inf, nan, 1.7976931348623157e+308, 4.9406564584124654e-324, -2.5e-10]
"""

calls = [()]
