"""An argument of the wrong type."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: str) -> int:
    return torch.relu(n)
"""

calls = [("a",)]
