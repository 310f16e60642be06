"""List operators by type."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    a: List[int],
    b: List[str]) -> Tuple[bool, bool, List[int], List[str], int, List[int]]:
    return (torch.eq(a, [1, 2]), torch.ne(b, ["x"]), torch.add(a, [9]), sorted(b), torch.len(a), torch.slice(a, None, None, -1))
"""

calls = [([1, 2], ["b", "a"]), ([], [])]
