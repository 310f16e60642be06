"""Makes what the benchmarks run on: python -m benchmarks.make_archives FOLDER. Weights are random, from a seed."""

import argparse
import pathlib

import torch
import torchvision

from benchmarks import warmup_models
from benchmarks.archives import save
from benchmarks.programs import PROGRAMS

IMAGE = (1, 3, 224, 224)
TORCHVISION = ["resnet18", "resnet50", "mobilenet_v3_large", "efficientnet_b0", "densenet121", "googlenet", "vit_b_16",
               "swin_t", "squeezenet1_1"]


class Identity(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    torch.manual_seed(0)

    for name, (module, inputs) in PROGRAMS.items():
        save(folder / "programs", name, torch.jit.script(module()), inputs)
    for name, module, calls in warmup_models.models():
        save(folder / "profiled", name, torch.jit.script(module.eval()), max(calls, key=len))

    models = folder / "models"
    image = torch.rand(IMAGE)
    for name in TORCHVISION:
        model = getattr(torchvision.models, name)(weights=None).eval()
        save(models, name, torch.jit.script(model), [image])
    import transformers

    config = transformers.BertConfig(num_hidden_layers=4, hidden_size=256, num_attention_heads=4,
                                     intermediate_size=1024, attn_implementation="eager")
    bert = transformers.BertModel(config).eval()
    tokens = torch.randint(0, config.vocab_size, (1, 32))
    save(models, "bert_traced", torch.jit.trace(bert, (tokens,), strict=False), [tokens])

    save(folder / "serving", "identity", torch.jit.script(Identity()), [torch.rand(4)])


if __name__ == "__main__":
    main()
