"""Dtypes and devices."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, dtype=x.dtype, device=x.device)
        z = x.to(torch.float16).float()
        w = x.to("cpu", dtype=torch.long)
        same = x.dtype == torch.float64
        device = torch.device("cpu")
        return y, z, w, same, x.device == device, x.is_cuda, x.device.type, x.is_floating_point(), x.type_as(z), x.to(y)


calls = [(torch.ones(2, dtype=torch.float64),), (torch.ones(2, dtype=torch.int32),)]
