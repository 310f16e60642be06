"""A branch without statements."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    if torch.gt(n, 0):
      pass
    else:
      pass
    if torch.gt(n, 5):
      m = 1
    else:
      m = 2
    return m
"""

calls = [(3,), (9,)]
