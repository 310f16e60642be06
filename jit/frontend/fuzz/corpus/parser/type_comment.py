def f(self, a, b):
  # type: (int, List[int]) -> Tensor
  pass
