"""A named tuple and an enum of the same file."""

code = r"""
class NT(NamedTuple):
  a : int
  b : str
class C(Enum):
  R = "rx"
  B = "bx"
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    n: int) -> Tuple[__torch__.NT, str, int, str]:
    t = __torch__.NT(n, "b", )
    c = __torch__.C.R
    return (t, (c).value, (t).a, (c).name)
"""

calls = [(3,)]
