"""A loop with an early return as the printer writes it."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    l: List[int],
    x: int) -> int:
    _0 = uninitialized(int)
    _1 = [9223372036854775807, torch.len(l)]
    _2 = ops.prim.min(_1)
    _3 = torch.lt(0, _2)
    _4, _5, _6, _7 = False, False, _0, 0
    _8 = _3
    while _8:
      v = l[_7]
      if torch.eq(v, x):
        _9, _10, _11 = True, True, _7
      else:
        _9, _10, _11 = False, False, _6
      _12 = torch.add(_7, 1)
      _13 = torch.__and__(torch.lt(_12, _2), torch.__not__(_9))
      _8, _4, _5, _6, _7 = _13, _9, _10, _11, _12
    if _5:
      _14 = _6
    else:
      _14 = -1
    return _14
"""

calls = [([5, 6, 7], 6), ([5], 9), ([], 1)]
