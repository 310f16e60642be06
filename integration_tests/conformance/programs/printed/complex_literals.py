"""Complex numbers as they are printed."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> List[complex]:
    return [1.+2.j, -1.5-0.25j, 0.+0.j, torch.Complex(1., -2.)]
"""

calls = [()]
