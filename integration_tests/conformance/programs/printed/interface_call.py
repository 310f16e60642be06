"""A method called through an interface."""

code = r"""
class I(Interface):
  def go(self, x: int) -> int:
    pass
class A:
  def go(self: __torch__.A,
    x: int) -> int:
    return torch.add(x, 100)
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    _0 = __torch__.A.__new__(__torch__.A)
    a : __torch__.I = _0
    return (a).go(n, )
"""

calls = [(3,)]
