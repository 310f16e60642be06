"""A function and a class of the same file."""

code = r"""
def twice(n: int) -> int:
  return torch.mul(n, 2)
class Box:
  v : int
  def __init__(self: __torch__.Box,
    v: int) -> NoneType:
    self.v = v
    return None
  def get(self: __torch__.Box) -> int:
    v = self.v
    return torch.add(v, 1)
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    _0 = __torch__.Box.__new__(__torch__.Box)
    _1 = (_0).__init__(n, )
    _2 = __torch__.twice
    return _2((_0).get(), )
"""

calls = [(3,)]
