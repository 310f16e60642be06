"""Dropout in training, functional and in place."""

import torch


def f(x: torch.Tensor):
    return (
        torch.dropout(x, 0.5, True),
        torch.dropout(x, 0.5, False),
        torch.feature_dropout(x, 0.3, True),
        torch.alpha_dropout(x, 0.2, True),
    )


calls = [{"args": (torch.ones(2, 4),), "seed": 1}]
