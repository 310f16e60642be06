import a.b as c, d
from ...x import (y as z, w,)
@script
@a.b(1)
def f(a, /, b: int, *args, c=1, d: List[int]=[1, 1], **kw) -> Tuple[int, ...]:
  '''doc'''
  def g(*, x): return
  return f(*a, b=1, **c)
class C(Module, metaclass=M):
  class : Tensor
  k : Final[int] = 3
  __annotations__["0"] = T
