"""range with a step as the printer writes it."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    a: int,
    b: int,
    s: int) -> List[int]:
    out = annotate(List[int], [])
    _0 = torch.__range_length(a, b, s)
    for _1 in range(_0):
      i = torch.__derive_index(_1, a, s)
      _2 = torch.append(out, i)
    return out
"""

calls = [(0, 10, 3), (5, 0, -2), (0, 0, 1), (0, 5, 0)]
