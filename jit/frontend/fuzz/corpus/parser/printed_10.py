class InvertedResidual(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  stride : int
  branch1 : __torch__.torch.nn.modules.container.___torch_mangle_2873.Sequential
  branch2 : __torch__.torch.nn.modules.container.___torch_mangle_3535.Sequential
  def forward(self: __torch__.torchvision.models.shufflenetv2.___torch_mangle_3536.InvertedResidual,
    x: Tensor) -> Tensor:
    _0 = __torch__.torchvision.models.shufflenetv2.channel_shuffle
    stride = self.stride
    if torch.eq(stride, 1):
      x1, x2, = torch.chunk(x, 2, 1)
      branch2 = self.branch2
      out0 = torch.cat([x1, (branch2).forward(x2, )], 1)
      out = out0
    else:
      branch1 = self.branch1
      _1 = (branch1).forward(x, )
      branch20 = self.branch2
      out1 = torch.cat([_1, (branch20).forward(x, )], 1)
      out = out1
    return _0(out, 2, )
