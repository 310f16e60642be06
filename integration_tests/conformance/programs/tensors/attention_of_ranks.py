"""Attention in three, five and six dimensions, of parts of one tensor and of dimensions that do not lie one inside of the
other. The linear layer changes no number, and nobody sees in which order in memory it was given them."""

import torch


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, identity: torch.Tensor):
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return torch.nn.functional.linear(heads, identity)


def f(x: torch.Tensor, y: torch.Tensor, identity: torch.Tensor):
    groups = x.reshape(x.size(0), x.size(1), x.size(2), 3, x.size(3) // (3 * identity.size(0)), identity.size(0))
    q, k, v = groups.permute(3, 0, 1, 4, 2, 5).unbind(0)
    five = attend(q, k, v, identity)
    turned = attend(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), identity)
    short = attend(q, k[:, :, :, :3], v[:, :, :, :3], identity)
    three = attend(y, y * 2, y[:, :, 1:], identity[1:, 1:])
    one = attend(y[:, :1], y, y, identity)
    six = attend(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1), identity)
    scaled = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5).sum((2, 3))
    return five, turned, short, three, one, six, scaled


def of(dtype, batch, groups, tokens, heads, width):
    x, y = torch.randn(batch, groups, tokens, 3 * heads * width), torch.randn(batch * heads, tokens, width)
    return tuple(value.to(dtype) for value in (x, y, torch.eye(width)))


torch.manual_seed(0)
calls = [of(dtype, *sizes) for dtype in (torch.float32, torch.float16, torch.bfloat16)
         for sizes in ((2, 6, 49, 2, 32), (1, 4, 5, 3, 8), (3, 1, 70, 1, 16))]
