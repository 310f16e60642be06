class QuantizableBasicConv2d(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  conv : __torch__.torch.nn.modules.conv.___torch_mangle_2025.Conv2d
  bn : __torch__.torch.nn.modules.batchnorm.___torch_mangle_2026.BatchNorm2d
  relu : __torch__.torch.nn.modules.activation.___torch_mangle_140.ReLU
  def forward(self: __torch__.torchvision.models.quantization.inception.___torch_mangle_2714.QuantizableBasicConv2d,
    x: Tensor) -> Tensor:
    conv = self.conv
    x0 = (conv).forward(x, )
    bn = self.bn
    x1 = (bn).forward(x0, )
    relu = self.relu
    return (relu).forward(x1, )
