"""A tuple of one type is indexed by a variable."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    t: Tuple[int, int],
    i: int) -> Tuple[int, int]:
    return ((t)[i], (t)[-1])
"""

calls = [((1, 2), 0), ((1, 2), -2), ((1, 2), 5)]
