"""Defaults as the printer writes them."""

code = r"""
class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Program,
    a: int=-3,
    b: float=2.,
    c: Optional[str]=None,
    d: List[int]=[1, 1],
    e: Tuple[int, str]=(1, "z"),
    f: bool=True,
    g: float=1.0000000000000001e-05,
    h: Device=torch.device("cpu")) -> Tuple[int, float, Optional[str], List[int], Tuple[int, str], bool, float, Device]:
    return (a, b, c, d, e, f, g, h)
"""

calls = [(), (1, 3.5, "x"), {"kwargs": {"g": 1.0, "f": False}}]
