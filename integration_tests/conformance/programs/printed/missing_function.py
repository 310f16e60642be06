"""A function that the code does not define."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    return __torch__.nowhere(n, )
"""

calls = [(5,)]
