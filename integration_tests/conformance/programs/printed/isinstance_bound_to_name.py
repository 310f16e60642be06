"""isinstance gives a bool and narrows nothing."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Any) -> Tuple[bool, bool, bool]:
    _0 = isinstance(x, int)
    _1 = isinstance(x, (float, List[int]))
    _2 = isinstance(x, (list, tuple))
    return (_0, _1, _2)
"""

calls = [(1,), (1.5,), ([1],), ((1, 2),), ("a",)]
