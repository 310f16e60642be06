"""Escapes as the printer writes them: octal for what has no letter."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program) -> List[str]:
    return ["a\\b", "\"q\"", "\'", "\n\t\a\b\f\v", "\001\033[0m", "", "a" "b"]
"""

calls = [()]
