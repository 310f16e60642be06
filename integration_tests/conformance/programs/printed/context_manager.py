"""with over an object, and what it leaves."""

code = r"""
class Log:
  l : List[int]
  def __init__(self: __torch__.Log,
    l: List[int]) -> NoneType:
    self.l = l
    return None
  def __enter__(self: __torch__.Log) -> int:
    l = self.l
    _0 = torch.append(l, 1)
    return 10
  def __exit__(self: __torch__.Log,
    a: Any,
    b: Any,
    c: Any) -> NoneType:
    l = self.l
    _0 = torch.append(l, -1)
    return None
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> List[int]:
    l = annotate(List[int], [])
    _0 = __torch__.Log.__new__(__torch__.Log)
    _1 = (_0).__init__(l, )
    with _0 as k:
      _2 = torch.append(l, torch.floordiv(k, n))
    with _0:
      pass
    return l
"""

calls = [(2,), (0,)]
