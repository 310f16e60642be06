class Fire(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  inplanes : int
  squeeze : __torch__.torch.nn.modules.conv.___torch_mangle_1974.Conv2d
  squeeze_activation : __torch__.torch.nn.modules.activation.ReLU
  expand1x1 : __torch__.torch.nn.modules.conv.___torch_mangle_3569.Conv2d
  expand1x1_activation : __torch__.torch.nn.modules.activation.ReLU
  expand3x3 : __torch__.torch.nn.modules.conv.___torch_mangle_1556.Conv2d
  expand3x3_activation : __torch__.torch.nn.modules.activation.ReLU
  def forward(self: __torch__.torchvision.models.squeezenet.___torch_mangle_3570.Fire,
    x: Tensor) -> Tensor:
    squeeze_activation = self.squeeze_activation
    squeeze = self.squeeze
    x0 = (squeeze_activation).forward((squeeze).forward(x, ), )
    expand1x1_activation = self.expand1x1_activation
    expand1x1 = self.expand1x1
    _0 = (expand1x1_activation).forward((expand1x1).forward(x0, ), )
    expand3x3_activation = self.expand3x3_activation
    expand3x3 = self.expand3x3
    _1 = (expand3x3_activation).forward((expand3x3).forward(x0, ), )
    return torch.cat([_0, _1], 1)
