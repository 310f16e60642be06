"""The models of the warm-up benchmark, and what they are called with.

They are small: a hundred thousand requests have to end in minutes, and what is slow when cold is code, not arithmetic.
Each has eight kinds of requests, of other batch sizes, sequence lengths or picture sizes; traffic begins with the first
two and adds two more in every quarter of a run.
"""

from typing import Dict, List, Optional, Tuple

import torch
import torchvision
from torch import Tensor, nn

from benchmarks.archives import save


class Blend(nn.Module):
    """Layers under Python's control: branches on sizes and numbers, scalar arithmetic, a loop."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)
        self.scale = 0.25

    def forward(self, x: Tensor, steps: int) -> Tensor:
        total = 0.0
        for i in range(steps):
            if i % 2 == 0:
                x = torch.relu(self.first(x)) * self.scale + 0.1
            else:
                x = torch.tanh(self.second(x)) - x
            if x.size(0) > 4:
                x = x / 2
            total += float(i) * 0.5
        return x + total


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, mask: Optional[Tensor]) -> Tensor:
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2)) / float(query.size(-1)) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :], -1e9)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value).transpose(1, 2)
        return self.output(mixed.reshape(x.size(0), x.size(1), -1))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = Attention(width, heads)
        self.first_norm = nn.LayerNorm(width)
        self.second_norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, mask: Optional[Tensor]) -> Tensor:
        x = self.first_norm(x + self.attention(x, mask))
        return self.second_norm(x + self.narrow(torch.nn.functional.gelu(self.wide(x))))


class Encoder(nn.Module):
    """A transformer over tokens, with padding or without."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 3):
        super().__init__()
        self.tokens = nn.Embedding(1000, width)
        self.places = nn.Embedding(128, width)
        self.layers = nn.ModuleList([EncoderLayer(width, heads) for _ in range(layers)])

    def forward(self, tokens: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
        for layer in self.layers:
            x = layer(x, mask)
        return x[:, 0]


class Tagger(nn.Module):
    """LibTorch's LSTM, then a loop over time that gathers a list."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 32)
        self.lstm = nn.LSTM(32, 32, batch_first=True)
        self.cell = nn.GRUCell(32, 32)
        self.tags = nn.Linear(32, 12)

    def forward(self, words: Tensor) -> Tuple[Tensor, List[Tensor]]:
        seen, _ = self.lstm(self.words(words))
        state = torch.zeros([words.size(0), 32], dtype=seen.dtype, device=seen.device)
        scores: List[Tensor] = []
        for step in range(seen.size(1)):
            state = self.cell(seen[:, step], state)
            scores.append(torch.log_softmax(self.tags(state), dim=-1))
        return torch.stack(scores, dim=1), scores


class Decoder(nn.Module):
    """Greedy decoding: how long it goes on depends on the values."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(64, 48)
        self.cell = nn.GRUCell(48, 48)
        self.next = nn.Linear(48, 64)

    def forward(self, start: Tensor, longest: int) -> List[int]:
        state = start
        word = torch.zeros([1], dtype=torch.long, device=start.device)
        said: List[int] = []
        while len(said) < longest:
            state = self.cell(self.words(word), state)
            word = torch.argmax(self.next(state), dim=-1)
            chosen = int(word.item())
            said.append(chosen)
            if chosen == 0 and len(said) > 4:
                break
        return said


class Detector(nn.Module):
    """Boxes above a threshold, the best of those that overlap: sizes that depend on the data."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                      nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.heads = nn.Conv2d(32, 5, 1)

    def suppress(self, boxes: Tensor, scores: Tensor) -> Tensor:
        order = torch.argsort(scores, descending=True)
        kept: List[Tensor] = []
        while order.size(0) > 0 and len(kept) < 4:
            best = order[0]
            kept.append(best)
            low = torch.maximum(boxes[order, :2], boxes[best, :2])
            high = torch.minimum(boxes[order, 2:], boxes[best, 2:])
            shared = (high - low).clamp(min=0).prod(dim=1)
            area = (boxes[order, 2:] - boxes[order, :2]).prod(dim=1)
            order = order[shared / area < 0.5]
        return torch.stack(kept)

    def forward(self, images: Tensor) -> List[Dict[str, Tensor]]:
        heads = self.heads(self.features(images)).flatten(2).transpose(1, 2)
        answers: List[Dict[str, Tensor]] = []
        for image in range(heads.size(0)):
            scores = torch.sigmoid(heads[image, :, 4])
            likely = scores >= scores.mean()
            centres = heads[image, likely, :2] * 8
            sizes = torch.exp(heads[image, likely, 2:4]) + 1
            boxes = torch.cat([centres - sizes, centres + sizes], dim=1)
            kept = self.suppress(boxes, scores[likely])
            answers.append({"boxes": boxes[kept], "scores": scores[likely][kept]})
        return answers


class Recommender(nn.Module):
    """Features by name, embeddings, a small network."""

    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(1000, 16)
        self.items = nn.EmbeddingBag(2000, 16, mode="mean")
        self.layers = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, features: Dict[str, Tensor]) -> Tensor:
        parts = [self.users(features["user"]), self.items(features["items"]), features["numbers"]]
        if "weight" in features:
            parts[2] = parts[2] * features["weight"].unsqueeze(1)
        return torch.sigmoid(self.layers(torch.cat(parts, dim=1))).squeeze(1)


def residual_network():
    return torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10)


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16))


def pictures(*sizes):
    return [(torch.rand(batch, 3, high, wide),) for batch, high, wide in sizes]


def padded(batch: int, length: int):
    mask = torch.zeros(batch, length, dtype=torch.bool)
    mask[:, length // 2:] = True
    return torch.randint(0, 1000, (batch, length)), mask


def features(batch: int, items: int, weighted: bool = False):
    made = {"user": torch.randint(0, 1000, (batch,)), "items": torch.randint(0, 2000, (batch, items)),
            "numbers": torch.rand(batch, 8)}
    if weighted:
        made["weight"] = torch.rand(batch)
    return (made,)


def models():
    """(name, module, eight argument lists) of each."""
    small = [(1, 32, 32), (2, 32, 32), (1, 48, 48), (3, 32, 32), (1, 40, 56), (4, 32, 32), (1, 64, 64), (2, 48, 32)]
    words = [(1, 8), (4, 8), (1, 12), (2, 16), (1, 1), (8, 6), (1, 20), (3, 10)]
    return [
        ("mlp", mlp(), [(torch.rand(batch, 128),) for batch in (1, 8, 4, 2, 16, 3, 12, 32)]),
        ("blend", Blend(), [(torch.rand(batch, 64), steps)
                            for batch, steps in ((1, 8), (4, 8), (8, 6), (2, 12), (16, 4), (1, 16), (6, 10), (3, 7))]),
        ("resnet", residual_network(), pictures(*small)),
        ("mobilenet_v3_small", torchvision.models.mobilenet_v3_small(weights=None), pictures(*small)),
        ("squeezenet1_1", torchvision.models.squeezenet1_1(weights=None), pictures(*small)),
        ("encoder", Encoder(), [(torch.randint(0, 1000, (1, 8)),), padded(2, 8), (torch.randint(0, 1000, (1, 16)),),
                                (torch.randint(0, 1000, (4, 12)),), padded(1, 24), (torch.randint(0, 1000, (1, 1)),),
                                padded(4, 16), (torch.randint(0, 1000, (2, 32)),)]),
        ("tagger", Tagger(), [(torch.randint(0, 500, shape),) for shape in words]),
        ("decoder", Decoder(), [(torch.rand(1, 48), longest) for longest in (8, 12, 6, 16, 10, 4, 20, 14)]),
        ("detector", Detector(), pictures(*small)),
        ("recommender", Recommender(), [features(1, 4), features(8, 4), features(2, 8), features(16, 2),
                                        features(4, 4, weighted=True), features(1, 8), features(32, 3),
                                        features(8, 1, weighted=True)]),
    ]


def make(folder):
    """Writes folder/NAME/1/model.pt and folder/NAME/inputs.pt, a tuple of argument lists."""
    torch.manual_seed(0)
    for name, module, calls in models():
        save(folder, name, torch.jit.script(module.eval()), calls)
