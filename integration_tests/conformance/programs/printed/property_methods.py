"""A property is a pair of methods."""

code = r"""
class P:
  v : int
  def __p_getter(self: __torch__.P) -> int:
    v = self.v
    return torch.mul(v, 10)
  def __p_setter(self: __torch__.P,
    v: int) -> NoneType:
    self.v = v
    return None
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> Tuple[int, int]:
    _0 = __torch__.P.__new__(__torch__.P)
    _1 = (_0).__p_setter(n, )
    return ((_0).__p_getter(), _0.p)
"""

calls = [(3,)]
