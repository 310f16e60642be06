"""Exceptions with and without a class."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    if torch.eq(n, 0):
      ops.prim.RaiseException("a", "builtins.ValueError")
    else:
      if torch.eq(n, 1):
        ops.prim.RaiseException("b")
      else:
        if torch.eq(n, 2):
          ops.prim.RaiseException("", "my.package.Error")
        else:
          ops.prim.RaiseException("")
    return n
"""

calls = [(0,), (1,), (2,), (3,)]
