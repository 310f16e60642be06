"""A fork of a closure, which captures what is outside."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> int:
    k = torch.add(n, 1)
    def __forked_function0():
      _0 = torch.mul(k, 3)
      return _0
    f = fork(__forked_function0)
    k0 = 1000
    return torch.add(torch.wait(f), k0)
"""

calls = [(3,)]
