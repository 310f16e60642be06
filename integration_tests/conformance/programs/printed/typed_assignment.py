"""A declared variable is of the declared type."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> Tuple[Optional[int], List[Optional[int]]]:
    a : Optional[int] = n
    b : Optional[int] = None
    l = annotate(List[Optional[int]], [a, b])
    return (a, l)
"""

calls = [(3,)]
