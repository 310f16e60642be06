"""A tuple or list is unpacked by targets with a comma at the end."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    t: Tuple[int, str],
    l: List[int]) -> Tuple[int, str, int, int, int]:
    a, b, = t
    c, d, = l
    e, = (c,)
    return (a, b, c, d, e)
"""

calls = [((1, "x"), [2, 3]), ((1, "x"), [2]), ((1, "x"), [1, 2, 3])]
