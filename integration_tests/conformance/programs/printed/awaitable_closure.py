"""An awaitable of a closure runs at its wait."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    l: List[int]) -> Tuple[int, int]:
    def __awaitable_function0():
      _0 = torch.append(l, 1)
      return torch.len(l)
    a = awaitable(__awaitable_function0)
    n = torch.len(l)
    return (n, ops.prim.awaitable_wait(a))
"""

calls = [([5],)]
