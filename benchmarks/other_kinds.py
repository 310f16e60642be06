"""Small models of kinds that no library of networks has: what a U-Net, a speech encoder, a detector's head, a recommender
and a table's classifier are made of. Scripted; on float32 inputs and ids."""

import torch
from torch import nn
from torch.nn import functional

from integration_tests.networks import image


class Block(nn.Module):
    """Of a U-Net as diffusion models have it: group norms, SiLU, a residual."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.first_norm, self.second_norm = nn.GroupNorm(8, inputs), nn.GroupNorm(8, outputs)
        self.first, self.second = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        inner = self.first(functional.silu(self.first_norm(x)))
        return self.second(functional.silu(self.second_norm(inner))) + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.start = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(Block(width << i, width << (i + 1)) for i in range(3))
        self.up = nn.ModuleList(Block((width << (i + 1)) + (width << i), width << i) for i in (2, 1, 0))
        self.end = nn.Conv2d(width, 3, 1)

    def forward(self, x):
        x = self.start(x)
        kept = []
        for block in self.down:
            kept.append(x)
            x = block(functional.avg_pool2d(x, 2))
        for i, block in enumerate(self.up):
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, kept[2 - i]], 1))
        return self.end(x)


class ConformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.before = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.after = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.all_three, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gates, self.depth = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 15, padding=7, groups=width)
        self.batch_norm, self.point = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        x = x + 0.5 * self.before(self.norms[0](x))
        batch, steps, width = x.shape
        parts = self.all_three(self.norms[1](x)).view(batch, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.mix(mixed.transpose(1, 2).reshape(batch, steps, width))
        inner = functional.glu(self.gates(self.norms[2](x).transpose(1, 2)), dim=1)
        x = x + self.point(functional.silu(self.batch_norm(self.depth(inner)))).transpose(1, 2)
        return self.norms[4](x + 0.5 * self.after(self.norms[3](x)))


class Speech(nn.Module):
    """Ten seconds of 80 mel bands, taken together four by four, through conformer blocks."""

    def __init__(self, width=144, blocks=4):
        super().__init__()
        self.start = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
        self.project = nn.Linear(32 * 20, width)
        self.blocks = nn.Sequential(*(ConformerBlock(width, 4) for _ in range(blocks)))
        self.head = nn.Linear(width, 128)

    def forward(self, x):
        x = self.start(x.unsqueeze(1))
        x = self.project(x.permute(0, 2, 1, 3).flatten(2))
        return functional.log_softmax(self.head(self.blocks(x)), -1)


class Recommender(nn.Module):
    """Dense features and 26 ids, whose vectors are multiplied with each other."""

    def __init__(self, rows=5000, width=32):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(26))
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + 27 * 26 // 2, 256), nn.ReLU(), nn.Linear(256, 1))
        rows, columns = torch.tril_indices(27, 27, -1)
        self.register_buffer("pairs", rows * 27 + columns)

    def forward(self, dense, ids):
        bottom = self.bottom(dense)
        vectors = [bottom]
        for i, table in enumerate(self.tables):
            vectors.append(table(ids[:, i]))
        together = torch.stack(vectors, 1)
        products = torch.bmm(together, together.transpose(1, 2)).flatten(1)[:, self.pairs]
        return torch.sigmoid(self.top(torch.cat([bottom, products], 1)))


class Tabular(nn.Module):
    """Numbers and categories of a table as tokens of a transformer."""

    def __init__(self, numbers=20, categories=8, width=64, layers=3):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.randn(numbers, width)), nn.Parameter(torch.randn(numbers, width))
        self.table, self.first = nn.Embedding(50 * categories, width), nn.Parameter(torch.randn(1, 1, width))
        self.register_buffer("begins", torch.arange(categories) * 50)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(layers))
        self.head = nn.Linear(width, 2)

    def forward(self, numbers, categories):
        tokens = [self.first.expand(numbers.shape[0], -1, -1), numbers.unsqueeze(-1) * self.scale + self.shift,
                  self.table(categories + self.begins)]
        x = torch.cat(tokens, 1)
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.relu(x[:, 0]))


class Detector(nn.Module):
    """One stage: features at three scales, boxes and scores for each of their places, decoded."""

    def __init__(self):
        super().__init__()

        def layer(inputs, outputs, stride):
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                                 nn.LeakyReLU(0.1))

        self.stem = nn.Sequential(layer(3, 16, 2), layer(16, 32, 2))
        self.stages = nn.ModuleList(nn.Sequential(layer(32 << i, 64 << i, 2), layer(64 << i, 64 << i, 1)) for i in range(3))
        self.heads = nn.ModuleList(nn.Conv2d(64 << i, 3 * 25, 1) for i in range(3))

    def forward(self, x):
        x = self.stem(x)
        found = []
        for stage, head in zip(self.stages, self.heads):
            x = stage(x)
            raw = head(x)
            batch, _, height, width = raw.shape
            raw = raw.view(batch, 3, 25, height, width).permute(0, 1, 3, 4, 2)
            rows = torch.arange(height, device=x.device).view(1, 1, height, 1)
            columns = torch.arange(width, device=x.device).view(1, 1, 1, width)
            center_x = (torch.sigmoid(raw[..., 0]) + columns) / width
            center_y = (torch.sigmoid(raw[..., 1]) + rows) / height
            sizes = torch.exp(raw[..., 2:4].clamp(max=4.0)) * 0.1
            boxes = torch.cat([torch.stack([center_x, center_y], -1), sizes, torch.sigmoid(raw[..., 4:])], -1)
            found.append(boxes.reshape(batch, -1, 25))
        return torch.cat(found, 1)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(80, 128, bidirectional=True, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        sequence, _ = self.gru(x)
        return self.head(sequence.mean(1))


OTHER_KINDS = {
    "unet": lambda batch: (UNet(), (image(batch, 3, 64, 64),)),
    "speech": lambda batch: (Speech(), (image(batch, 1000, 80),)),
    "recommender": lambda batch: (Recommender(), (torch.randn(batch, 13), torch.randint(5000, (batch, 26)))),
    "tabular": lambda batch: (Tabular(), (torch.randn(batch, 20), torch.randint(50, (batch, 8)))),
    "detector": lambda batch: (Detector(), (image(batch, 3, 256, 256),)),
    "gru": lambda batch: (Gru(), (image(batch, 64, 80),)),
}
