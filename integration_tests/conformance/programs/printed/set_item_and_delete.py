"""Lists and dicts are written by operators."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    l: List[int],
    d: Dict[str, int]) -> Tuple[List[int], Dict[str, int], bool]:
    _0 = torch._set_item(l, 0, 7)
    torch._set_item(d, "a", 1)
    torch.Delete(d, "b")
    torch.Delete(l, 1)
    return (l, d, torch.__contains__(d, "a"))
"""

calls = [([1, 2, 3], {"b": 2}), ([1, 2], {"a": 0}), ([], {"b": 1})]
