"""Code under __torch__.torch.classes: functions there are functions; a class that is written there, as old archives do,
gives way to the library's own."""

import torch

code = {
    "__torch__": """class Program(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.Program,
    x: Tensor) -> Tensor:
    packed = ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.mul(x, 2), 0.5, 0, 12), None)
    input = torch.quantize_per_tensor(x, 0.5, 0, 13)
    _0 = torch.dequantize(__torch__.torch.classes.quantized.apply(input, packed, ))
    return torch.add(_0, __torch__.torch.classes.more.tools.one(x, ))
""",
    "__torch__.torch.classes.quantized": """class LinearPackedParamsBase(Module):
  __parameters__ = []
  __buffers__ = []
  capsule : int
  def unpack(self: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> int:
    return ops.quantized.no_such_operator(self)
def apply(input: Tensor,
    packed: __torch__.torch.classes.quantized.LinearPackedParamsBase) -> Tensor:
  return ops.quantized.linear(input, packed, 1., 0)
""",
    "__torch__.torch.classes.more.tools": """def one(x: Tensor) -> Tensor:
  return torch.ones_like(x)
""",
}

calls = [(torch.tensor([[1.0, 2.0], [0.5, 3.0]]),)]
