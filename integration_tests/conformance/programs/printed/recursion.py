"""A method that calls itself: torch.jit refuses it."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    if torch.le(n, 1):
      r = 1
    else:
      r = torch.mul(n, self.forward(torch.sub(n, 1), ))
    return r
"""

calls = [(5,)]
