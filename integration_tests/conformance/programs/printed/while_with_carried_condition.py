"""While as the printer writes it: the condition is a variable that the body assigns."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> Tuple[int, int]:
    _0 = torch.gt(n, 0)
    s = 0
    i = n
    _1 = _0
    s0 = s
    i0 = i
    while _1:
      s1 = torch.add(s0, i0)
      i1 = torch.sub(i0, 1)
      _1, s0, i0 = torch.gt(i1, 0), s1, i1
    return (s0, i0)
"""

calls = [(4,), (0,), (-3,)]
