"""The models whose speed is measured: networks with random weights from a seed, on any device, in any float dtype."""

from typing import NamedTuple

import torch
from torch import nn

from benchmarks.forks import FORKS
from benchmarks.other_kinds import OTHER_KINDS
from benchmarks.programs import PROGRAMS
from benchmarks.rare_kinds import RARE_SCRIPTED, RARE_TRACED
from integration_tests.networks import SEED, awaken, image, settle, tokens
from integration_tests.values import to

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Made(NamedTuple):
    """A model that is ready to be measured."""

    module: nn.Module
    archive: torch.jit.ScriptModule
    inputs: tuple


def torchvision_model(name, batch):
    from torchvision import models

    size = (224, 224)
    if name in models.list_models(module=models.video):
        size = (16, 112, 112) if name.endswith("_18") else (16, 224, 224)
    with_backbone = [*models.list_models(module=models.segmentation), *models.list_models(module=models.detection)]
    without_weights = {"weights": None, **({"weights_backbone": None} if name in with_backbone else {})}
    return models.get_model(name, **without_weights), (image(batch, 3, *size),)


def timm_model(name, batch):
    import timm

    model = timm.create_model(name, pretrained=False)
    takes = model.default_cfg
    has_own_side = takes.get("fixed_input_size") or takes.get("min_input_size", (0,))[-1] > 224
    side = takes["input_size"][-1] if has_own_side else 224
    return model, (image(batch, 3, side, side),)


def transformers_model(name, batch):
    from benchmarks.transformers_models import of_class

    return of_class(name, batch)


def bert(batch, layers, hidden, heads, length):
    from transformers import BertConfig, BertModel

    config = BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                        intermediate_size=4 * hidden, return_dict=False)
    return BertModel(config), (tokens(batch, length),)


def distilbert(batch, length):
    from transformers import DistilBertConfig, DistilBertModel

    return DistilBertModel(DistilBertConfig(return_dict=False)), (tokens(batch, length),)


def gpt2(batch, layers, length):
    from transformers import GPT2Config, GPT2Model

    return GPT2Model(GPT2Config(n_layer=layers, return_dict=False, use_cache=False)), (tokens(batch, length),)


class ActivationBlock(torch.nn.Module):
    """Nothing but pointwise operators, on a million elements: what they read and write is most of what they cost."""

    def forward(self, x, y):
        gate = torch.relu(x + y) * 0.5
        mixed = torch.tanh(gate) + torch.sigmoid(x * 1.702) * x
        scaled = torch.nn.functional.gelu(mixed) * y
        bounded = torch.exp(-torch.abs(scaled)) + torch.clamp(scaled, -1.0, 1.0)
        return bounded * gate + mixed


def mlp(batch, *widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), (image(batch, widths[0]),)


class Lstm(nn.Module):
    """Two layers over a sequence, and a linear layer on what comes last."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sequence, _ = self.lstm(x)
        return self.head(sequence[:, -1])


def program(name):
    module, inputs = PROGRAMS[name]
    return module(), inputs


# By name, what gives (module, inputs). Those that are traced, and those that are scripted, take the size of a batch.
TRACED = {
    "bert_small": lambda batch: bert(batch, 4, 256, 4, 32),
    "bert_base": lambda batch: bert(batch, 12, 768, 12, 128),
    "distilbert": lambda batch: distilbert(batch, 128),
    "distilgpt": lambda batch: gpt2(batch, 6, 64),
    "gpt2": lambda batch: gpt2(batch, 12, 128),
    "mixer_b16": lambda batch: timm_model("mixer_b16_224", batch),
    "vit_small": lambda batch: timm_model("vit_small_patch16_224", batch),
    **RARE_TRACED,
}
SCRIPTED = {
    **{name: lambda batch, name=name: torchvision_model(name, batch) for name in (
        "resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "googlenet", "densenet121", "shufflenet_v2_x1_0",
        "efficientnet_b0", "vit_b_16", "swin_t", "convnext_tiny")},
    "lstm": lambda batch: (Lstm(64, 128, 10), (image(batch, 32, 64),)),
    **OTHER_KINDS,
    **RARE_SCRIPTED,
}
# What nobody has listed, by a prefix: timm:NAME and transformers:CLASS are traced, torchvision:NAME is scripted.
LIBRARIES = {"timm": timm_model, "transformers": transformers_model, "torchvision": torchvision_model}
# Scripted too, with inputs of one size.
FIXED = {
    "mlp_batch_1": lambda: mlp(1, 64, 128, 128, 10),
    "mlp_batch_64": lambda: mlp(64, 64, 128, 128, 10),
    "mlp_16_layers": lambda: mlp(1, *[64] * 17),
    "activation_block": lambda: (ActivationBlock(), (torch.randn(1000, 1000), torch.randn(1000, 1000))),
    **{name: lambda name=name: program(name) for name in ("scalar_loop", "list_and_dict", "deep_submodules")},
    **FORKS,
}
MODELS = [*SCRIPTED, *TRACED, *FIXED]
# What is measured where nobody names models.
ON_CPU = [name for name in MODELS if name not in {*FORKS, *RARE_SCRIPTED, *RARE_TRACED}]
ON_GPU = ["resnet50", "bert_base", "mobilenet_v3_large", "vit_b_16", "convnext_tiny", "swin_t", "gpt2",
          "efficientnet_b0", "mixer_b16", "distilbert"]
# What is all interpreter, and what is all overhead, has a goal of its own.
SMALL = ["mlp_batch_1", "mlp_batch_64", "mlp_16_layers", "scalar_loop", "list_and_dict", "deep_submodules"]
# What an MLP cannot do without: rows, inner size and columns of its matrix products.
PRODUCTS = {"mlp_batch_1": "1x64x128,1x128x128,1x128x10", "mlp_batch_64": "64x64x128,64x128x128,64x128x10"}


def make(name, batch=1, device="cpu", dtype=torch.float32):
    """Made where it is to run: what a trace holds of device and dtype is then what a user's would hold."""
    torch.manual_seed(SEED)
    makers = {**SCRIPTED, **TRACED}
    library, _, model = name.partition(":")
    if library in LIBRARIES:
        module, inputs = LIBRARIES[library](model, batch)
    else:
        module, inputs = makers[name](batch) if name in makers else FIXED[name]()
    inputs = to(device, tuple(inputs))
    module = settle(awaken(module).to(device), *inputs).to(dtype)
    inputs = tuple(value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                   for value in inputs)
    with torch.no_grad():
        is_traced = name in TRACED or library in ("timm", "transformers")
        archive = (torch.jit.trace(module, inputs, strict=False, check_trace=False) if is_traced
                   else torch.jit.script(module))
    return Made(module, archive, inputs)
