"""uninitialized stands for what a branch that raises would give."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: Optional[int]) -> int:
    _0 = uninitialized(int)
    if torch.__is__(x, None):
      ops.prim.RaiseException("AssertionError: none")
      y = _0
    else:
      x0 = unchecked_cast(int, x)
      y = torch.add(x0, 1)
    return y
"""

calls = [(1,), (None,)]
