"""Networks of kinds that are rarer than those of other_kinds.py, measured when they are named: transposed convolutions
with group norms, instance norms and batch norms, prelu, bags of ids, separation of speech, transformers with masks and
with relative positions. Those of transformers are traced, the others scripted."""

import torch
from torch import nn
from torch.nn import functional

from integration_tests.networks import image, tokens


class NormedBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.GroupNorm(4, outputs),
                                    nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                                    nn.GroupNorm(4, outputs), nn.ReLU())

    def forward(self, x):
        return self.layers(x)


class SegmentingUNet(nn.Module):
    """As medical images are segmented: group norms, and transposed convolutions on the way up."""

    def __init__(self, width=24, levels=3):
        super().__init__()
        self.start = NormedBlock(3, width)
        self.down = nn.ModuleList(NormedBlock(width << i, width << (i + 1)) for i in range(levels))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(width << (i + 1), width << i, 2, 2)
                                  for i in reversed(range(levels)))
        self.up = nn.ModuleList(NormedBlock(width << (i + 1), width << i) for i in reversed(range(levels)))
        self.end = nn.Conv2d(width, 4, 1)

    def forward(self, x):
        x = self.start(x)
        kept = []
        for block in self.down:
            kept.append(x)
            x = block(functional.max_pool2d(x, 2))
        for i, (grow, block) in enumerate(zip(self.grow, self.up)):
            x = block(torch.cat([kept[len(kept) - 1 - i], grow(x)], 1))
        return self.end(x)


class Pyramid(nn.Module):
    """A detector's backbone and what joins its scales."""

    def __init__(self):
        super().__init__()
        from torchvision.models import resnet18

        body = resnet18(weights=None)
        self.stem = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool, body.layer1)
        self.stages = nn.ModuleList([body.layer2, body.layer3, body.layer4])
        self.lateral = nn.ModuleList(nn.Conv2d(128 << i, 128, 1) for i in range(3))
        self.smooth = nn.ModuleList(nn.Conv2d(128, 128, 3, padding=1) for _ in range(3))
        self.head = nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.GroupNorm(32, 128), nn.ReLU(),
                                  nn.Conv2d(128, 36, 3, padding=1))

    def forward(self, x):
        x = self.stem(x)
        scales = []
        for stage, lateral in zip(self.stages, self.lateral):
            x = stage(x)
            scales.append(lateral(x))
        middle = scales[1] + functional.interpolate(scales[2], scale_factor=2.0, mode="nearest")
        fine = scales[0] + functional.interpolate(middle, scale_factor=2.0, mode="nearest")
        together = [fine, middle, scales[2]]
        answers = []
        for i, smooth in enumerate(self.smooth):
            answers.append(self.head(smooth(together[i])).flatten(2))
        return torch.cat(answers, 2)


class Separator(nn.Module):
    """Conv-TasNet: an encoder of samples, dilated depthwise convolutions that mask it, a decoder of samples."""

    class Block(nn.Module):
        def __init__(self, width, inner, dilation):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv1d(width, inner, 1), nn.PReLU(), nn.GroupNorm(1, inner),
                                        nn.Conv1d(inner, inner, 3, padding=dilation, dilation=dilation, groups=inner),
                                        nn.PReLU(), nn.GroupNorm(1, inner), nn.Conv1d(inner, width, 1))

        def forward(self, x):
            return x + self.layers(x)

    def __init__(self, filters=128, width=64, inner=128, sources=2):
        super().__init__()
        self.sources = sources
        self.encoder = nn.Conv1d(1, filters, 16, stride=8, bias=False)
        self.norm, self.narrow = nn.GroupNorm(1, filters), nn.Conv1d(filters, width, 1)
        self.blocks = nn.Sequential(*(self.Block(width, inner, 1 << (i % 6)) for i in range(12)))
        self.masks = nn.Sequential(nn.PReLU(), nn.Conv1d(width, sources * filters, 1), nn.Sigmoid())
        self.decoder = nn.ConvTranspose1d(filters, 1, 16, stride=8, bias=False)

    def forward(self, x):
        samples = torch.relu(self.encoder(x))
        masks = self.masks(self.blocks(self.narrow(self.norm(samples))))
        masked = masks.view(x.shape[0], self.sources, samples.shape[1], -1) * samples.unsqueeze(1)
        return self.decoder(masked.flatten(0, 1)).view(x.shape[0], self.sources, -1)


class WaveEncoder(nn.Module):
    """The first part of wav2vec 2.0: convolutions of samples."""

    def __init__(self, width=128):
        super().__init__()
        kernels, strides = [10, 3, 3, 3, 3, 2, 2], [5, 2, 2, 2, 2, 2, 2]
        layers = []
        for i, (kernel, stride) in enumerate(zip(kernels, strides)):
            layers.append(nn.Conv1d(1 if i == 0 else width, width, kernel, stride, bias=False))
            if i == 0:
                layers.append(nn.GroupNorm(width, width))
            layers.append(nn.GELU())
        self.layers, self.norm, self.project = nn.Sequential(*layers), nn.LayerNorm(width), nn.Linear(width, 192)

    def forward(self, x):
        return self.project(self.norm(self.layers(x).transpose(1, 2)))


class BagRecommender(nn.Module):
    """DLRM: bags of ids, their sums multiplied with each other."""

    def __init__(self, tables=8, rows=2000, width=32):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
                                 nn.Linear(64, 1))
        rows_of, columns_of = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("rows_of", rows_of)
        self.register_buffer("columns_of", columns_of)

    def forward(self, dense, ids):
        bottom = self.bottom(dense)
        vectors = [bottom]
        for i, bag in enumerate(self.bags):
            vectors.append(bag(ids[:, i]))
        together = torch.stack(vectors, 1)
        products = torch.bmm(together, together.transpose(1, 2))[:, self.rows_of, self.columns_of]
        return torch.sigmoid(self.top(torch.cat([bottom, products], 1)))


class StackedLstm(nn.Module):
    """Both directions, as speech is tagged."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(40, 96, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(192, 32)

    def forward(self, x):
        return functional.log_softmax(self.head(self.lstm(x)[0]), -1)


class Generator(nn.Sequential):
    """Pictures of noise (DCGAN, Radford et al. 2015): transposed convolutions alone, each with a batch norm."""

    def __init__(self, widths=(100, 256, 128, 64, 32)):
        layers = []
        for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            layers += [nn.ConvTranspose2d(inputs, outputs, 4, 2 if i else 1, 1 if i else 0, bias=False),
                       nn.BatchNorm2d(outputs), nn.ReLU(True)]
        super().__init__(*layers, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1, bias=False), nn.Tanh())


class Translator(nn.Module):
    """Pictures of pictures (pix2pix, Isola et al. 2016): instance norms, and skips around transposed convolutions."""

    def __init__(self, widths=(3, 32, 64, 128, 128)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList(nn.Conv2d(inputs, outputs, 4, 2, 1) for inputs, outputs in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(outputs * (1 if i == len(pairs) - 1 else 2), inputs, 4, 2, 1)
                                for i, (inputs, outputs) in reversed(list(enumerate(pairs))) if i > 0)
        self.end = nn.ConvTranspose2d(2 * widths[1], 3, 4, 2, 1)

    def forward(self, x):
        kept = []
        for i, layer in enumerate(self.down):
            x = layer(functional.leaky_relu(x, 0.2) if i > 0 else x)
            if i > 0:
                x = functional.instance_norm(x)
            kept.append(x)
        kept.pop()
        for layer in self.up:
            x = torch.cat([functional.instance_norm(layer(functional.relu(x))), kept.pop()], 1)
        return torch.tanh(self.end(functional.relu(x)))


class Embedder(nn.Module):
    """Faces as vectors (ArcFace, Deng et al. 2018): residual blocks with prelu."""

    def __init__(self, widths=(32, 64, 128)):
        super().__init__()
        self.start = nn.Sequential(nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]),
                                   nn.PReLU(widths[0]))
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.BatchNorm2d(width), nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.PReLU(width),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)) for width in widths for _ in range(2))
        self.wider = nn.ModuleList(nn.Conv2d(inputs, outputs, 3, 2, 1)
                                   for inputs, outputs in zip(widths, widths[1:] + widths[-1:]))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(widths[-1] * 14 * 14, 256), nn.BatchNorm1d(256))

    def forward(self, x):
        x = self.start(x)
        for i, block in enumerate(self.blocks):
            x = x + block(x)
            for j, layer in enumerate(self.wider):
                if i == 2 * j + 1:
                    x = layer(x)
        return functional.normalize(self.head(x))


class Chosen(nn.Module):
    """One tensor of what a model of transformers gives."""

    def __init__(self, model, **settings):
        super().__init__()
        self.model, self.settings = model, settings

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, **self.settings)[0]


def masked(model, batch, length=128, **settings):
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[:, length - length // 4:] = 0
    return Chosen(model, **settings), (tokens(batch, length), mask)


def of_transformers(name, batch):
    import transformers

    shared = dict(return_dict=False, vocab_size=1000)
    small = dict(shared, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    if name == "roberta":
        return masked(transformers.RobertaModel(transformers.RobertaConfig(**small)), batch)
    if name == "albert":
        return masked(transformers.AlbertModel(transformers.AlbertConfig(**small, embedding_size=64)), batch)
    if name == "deberta":
        return masked(transformers.DebertaV2Model(transformers.DebertaV2Config(
            **small, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32)), batch)
    if name == "electra":
        return masked(transformers.ElectraModel(transformers.ElectraConfig(**small, embedding_size=64)), batch)
    config = transformers.T5Config(**shared, d_model=256, d_kv=64, d_ff=1024, num_layers=4, num_heads=4)
    return masked(transformers.T5EncoderModel(config), batch)


RARE_TRACED = {name: lambda batch, name=name: of_transformers(name, batch)
                   for name in ("roberta", "albert", "deberta", "electra", "t5_encoder")}
RARE_SCRIPTED = {
    "segmenting_unet": lambda batch: (SegmentingUNet(), (image(batch, 3, 128, 128),)),
    "pyramid": lambda batch: (Pyramid(), (image(batch, 3, 256, 256),)),
    "separator": lambda batch: (Separator(), (image(batch, 1, 8000),)),
    "wave_encoder": lambda batch: (WaveEncoder(), (image(batch, 1, 16000),)),
    "bag_recommender": lambda batch: (BagRecommender(), (torch.randn(batch, 13), torch.randint(2000, (batch, 8, 20)))),
    "generator": lambda batch: (Generator(), (torch.randn(batch, 100, 1, 1),)),
    "translator": lambda batch: (Translator(), (image(batch, 3, 128, 128),)),
    "embedder": lambda batch: (Embedder(), (image(batch, 3, 112, 112),)),
    "stacked_lstm": lambda batch: (StackedLstm(), (image(batch, 50, 40),)),
}
