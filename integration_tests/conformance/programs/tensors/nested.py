"""Nested tensors, made, padded and taken apart."""

import torch


def f(a: torch.Tensor, b: torch.Tensor):
    n = torch._nested_tensor_from_tensor_list([a, b])
    return n.is_nested, torch.nested.to_padded_tensor(n, 0.0), n.unbind(), n.size(0)


calls = [(torch.ones(2, 3), torch.ones(1, 3))]
