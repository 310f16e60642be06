"""What torch.nn has for transformers: where no gradients are recorded, its layers call one operator each."""

import torch
import torch.nn as nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2, enable_nested_tensor=False
        )
        self.first = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
        self.tokens_first = nn.TransformerEncoderLayer(16, 4, 32)
        self.decoder = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, padding):
        causal = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), 1)
        encoded = self.first(self.last(x))
        attended = self.attention(encoded, encoded, encoded, need_weights=False)[0]
        weighted, weights = self.attention(x, x, x)
        others = self.attention(x, encoded, x, need_weights=False)[0]
        masked = self.last(x, src_key_padding_mask=padding), self.first(x, src_mask=causal)
        return encoded, attended, weighted, weights, others, masked, self.tokens_first(x), self.decoder(x, encoded)


calls = [
    (torch.linspace(-1, 1, 2 * 5 * 16).reshape(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])),
    (torch.linspace(1, -2, 16 * 5 * 3).reshape(16, 5, 3).permute(2, 1, 0), torch.zeros(3, 5, dtype=torch.bool)),
    (torch.zeros(1, 1, 16), torch.zeros(1, 1, dtype=torch.bool)),
]
