"""The right side of a parallel assignment is read before anything is written."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    a: int,
    b: int) -> Tuple[int, int, int]:
    c, d = b, a
    c0, d0, e = d, c, torch.add(c, d)
    return (c0, d0, e)
"""

calls = [(1, 2), (5, -5)]
