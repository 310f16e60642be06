"""Attributes of every scalar type, and Final constants."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  n : int
  f : float
  s : str
  b : bool
  l : List[int]
  k : Final[int] = 3
  ks : Final[Tuple[int, int]] = (1, -1)
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    x: int) -> Tuple[int, float, str, bool, List[int], int, Tuple[int, int]]:
    self.n = torch.add(self.n, x)
    return (self.n, self.f, self.s, self.b, self.l, self.k, self.ks)
"""

attributes = {"n": 1, "f": 2.5, "s": "text", "b": True, "l": [1, 2]}

calls = [(3,)]
