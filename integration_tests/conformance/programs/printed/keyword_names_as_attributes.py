"""Attributes that are no identifiers."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  __annotations__ = []
  __annotations__["0"] = int
  n : int
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> int:
    a = getattr(self, "0")
    return torch.add(a, self.n)
"""

attributes = {"0": 3, "n": 4}

calls = [()]
