"""The model zoo: archives with seeded random weights of architectures that nobody here wrote, their inputs, and what
torch.jit answers. Made once into a folder of the cache, shared by every checkout:

    NAME/model.pt      the archive
    NAME/inputs.pt     torch.save of the tuple of arguments
    NAME/expected.pt   torch.save of torch.jit.load(model.pt)(*inputs), in plain containers
    NAME/names.json    "inputs": the arguments' names; "outputs": the paths of the answer's leaves, named tuples by field

`python integration_tests/zoo.py` makes what is missing and prints the folder.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import torch
import torch.nn as nn

sys.path.insert(0, str(Path(__file__).parent))
from networks import SEED, image, settle, silence, tokens  # noqa: E402
from values import as_tensor, leaves, plain  # noqa: E402


@dataclass(frozen=True)
class Recipe:
    make: Callable[[], tuple]  # gives (archive as a ScriptModule, tuple of arguments)
    tolerance: Optional[tuple] = None  # (relative, absolute), where the dtype's own does not do
    needs_torchvision: bool = False  # whether its operators are torchvision's
    at_least: int = 1  # the fewest elements an answer must have to prove anything


ZOO: dict[str, Recipe] = {}


def recipe(name, **options):
    def register(function):
        ZOO[name] = Recipe(function, **options)
        return function

    return register


@dataclass(frozen=True)
class Model:
    """A member of the zoo on disk."""

    name: str
    folder: Path

    @property
    def archive(self):
        return self.folder / "model.pt"

    @property
    def inputs_file(self):
        return self.folder / "inputs.pt"

    @property
    def recipe(self):
        return ZOO[self.name]

    def inputs(self):
        return torch.load(self.inputs_file, weights_only=True)

    def expected(self):
        return torch.load(self.folder / "expected.pt", weights_only=True)

    def names(self):
        return json.loads((self.folder / "names.json").read_text())

    def served(self, answer):
        """The named tensors that a server gives for `answer`. One that is a tensor itself is called OUTPUT__0."""
        tensors = [as_tensor(leaf) for _, leaf in leaves(answer)]
        return {path or "OUTPUT__0": tensor for path, tensor in zip(self.names()["outputs"], tensors)}


def scripted(model, *inputs):
    return torch.jit.script(settle(model, *inputs)), inputs


def traced(model, *inputs):
    model.eval()
    with torch.no_grad():
        # transformers answer with dicts, which strict tracing refuses.
        return torch.jit.trace(model, inputs, strict=False), inputs


def torchvision_model(name, *inputs, **options):
    from torchvision import models

    return scripted(models.get_model(name, weights=None, **options), *inputs)


def _resnet18():
    from torchvision import models

    return settle(models.resnet18(weights=None), image(2, 3, 64, 64))


@recipe("resnet18")
def resnet18():
    return torch.jit.script(_resnet18()), (image(2, 3, 64, 64),)


@recipe("resnet18_frozen")
def resnet18_frozen():
    return torch.jit.freeze(torch.jit.script(_resnet18())), (image(2, 3, 64, 64),)


@recipe("resnet18_fp16")
def resnet18_fp16():
    return torch.jit.script(_resnet18().half()), (image(1, 3, 64, 64).half(),)


@recipe("resnet18_bf16")
def resnet18_bf16():
    return torch.jit.script(_resnet18().bfloat16()), (image(1, 3, 64, 64).bfloat16(),)


@recipe("mobilenet_v3_large")
def mobilenet_v3_large():
    return torchvision_model("mobilenet_v3_large", image(2, 3, 96, 96))


@recipe("efficientnet_b0")
def efficientnet_b0():
    return torchvision_model("efficientnet_b0", image(2, 3, 96, 96))


# Its own rounding error is 1e-3 of its answer (against float64): the number of threads shows.
@recipe("densenet121", tolerance=(2e-3, 2e-3))
def densenet121():
    return torchvision_model("densenet121", image(1, 3, 64, 64))


@recipe("googlenet")
def googlenet():
    return torchvision_model("googlenet", image(1, 3, 96, 96), init_weights=False, aux_logits=True)


@recipe("vit_b_16")
def vit_b_16():
    from torchvision import models

    model = models.vit_b_16(weights=None, image_size=112)
    nn.init.normal_(model.heads.head.weight, std=0.02)  # zeros by default: every answer would be zero
    return scripted(model, image(1, 3, 112, 112))


@recipe("swin_t")
def swin_t():
    return torchvision_model("swin_t", image(1, 3, 96, 96))


@recipe("deeplabv3_mobilenet_v3_large")
def deeplabv3_mobilenet_v3_large():
    return torchvision_model(
        "deeplabv3_mobilenet_v3_large", image(1, 3, 96, 96), weights_backbone=None, aux_loss=True
    )


@recipe("r3d_18")
def r3d_18():
    return torchvision_model("r3d_18", image(1, 3, 8, 48, 48))


@recipe("raft_small", tolerance=(1e-3, 1e-3))
def raft_small():
    from torchvision import models

    model = settle(models.optical_flow.raft_small(weights=None), image(1, 3, 128, 128), image(1, 3, 128, 128).flip(3))
    # RAFT refines its answer twelve times; three say as much about the code and take a quarter of the time.
    arguments = (image(1, 3, 128, 128).clamp(-1, 1), image(1, 3, 128, 128).flip(3).clamp(-1, 1), 3)
    return torch.jit.script(model), arguments


def detector(name, size, **options):
    from torchvision import models

    model = models.get_model(name, weights=None, weights_backbone=None, **options)
    picture = image(3, *size).sigmoid()
    settle(model, [picture])
    generator = torch.Generator().manual_seed(SEED + 2)
    with torch.no_grad():
        for part, parameter in model.named_parameters():
            # Wider class weights: scores that differ, so that their order is not decided by rounding.
            if part.endswith("cls_score.weight"):
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return torch.jit.script(model), ([picture],)


@recipe("fasterrcnn_mobilenet_v3_large_320_fpn", needs_torchvision=True, tolerance=(1e-3, 1e-3), at_least=20)
def fasterrcnn():
    return detector("fasterrcnn_mobilenet_v3_large_320_fpn", (200, 240), box_score_thresh=0.02)


@recipe("ssdlite320_mobilenet_v3_large", needs_torchvision=True, tolerance=(1e-3, 1e-3), at_least=20)
def ssdlite():
    return detector("ssdlite320_mobilenet_v3_large", (200, 240), score_thresh=0.02, detections_per_img=50)


def timm_model(name, *inputs, **options):
    import timm

    model = timm.create_model(name, pretrained=False, **options)
    nn.init.normal_(model.get_classifier().weight, std=0.02)  # zeros in some: every answer would be zero
    return traced(settle(model, *inputs), *inputs)


@recipe("convnext_tiny")
def convnext_tiny():
    return timm_model("convnext_tiny", image(1, 3, 64, 64))


@recipe("mixer_s16_224")
def mixer_s16_224():
    return timm_model("mixer_s16_224", image(1, 3, 224, 224))


@recipe("bert")
def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=1000, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256,
        attn_implementation="eager",
    )
    ids = tokens(2, 16, 1000)
    mask = torch.ones_like(ids)
    mask[1, 10:] = 0
    return traced(BertModel(config), ids, mask)


@recipe("gpt2")
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=1000, n_positions=64, n_embd=128, n_layer=3, n_head=4, use_cache=False,
        attn_implementation="eager",
    )
    return traced(GPT2LMHeadModel(config), tokens(2, 16, 1000))


@recipe("vit_transformers")
def vit_transformers():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256, image_size=64,
        patch_size=16, attn_implementation="eager",
    )
    return traced(ViTModel(config), image(2, 3, 64, 64))


def make(name, folder):
    torch.manual_seed(SEED)
    module, inputs = ZOO[name].make()
    module.eval()
    torch.jit.save(module, folder / "model.pt")
    torch.save(tuple(inputs), folder / "inputs.pt")
    oracle = torch.jit.load(folder / "model.pt")
    with torch.no_grad():
        answer = oracle(*torch.load(folder / "inputs.pt", weights_only=True))
    if found := silence(answer, ZOO[name].at_least):
        raise AssertionError(f"{name}: {found}")
    torch.save(plain(answer), folder / "expected.pt")
    names = {
        "inputs": [argument.name for argument in oracle.forward.schema.arguments][1:],
        "outputs": [path for path, _ in leaves(answer)],
    }
    (folder / "names.json").write_text(json.dumps(names))


def cache_folder():
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hearth"
    return Path(os.environ.get("HEARTH_CACHE") or default)


def zoo_folder():
    here = Path(__file__)
    key = here.read_bytes() + (here.parent / "networks.py").read_bytes() + torch.__version__.encode()
    return cache_folder() / f"zoo-{hashlib.sha256(key).hexdigest()[:12]}"


def ensure(names=None, progress=lambda text: None):
    """The zoo's members (all, or those named), made if they are not there yet. Safe for several processes at once."""
    folder = zoo_folder()
    folder.mkdir(parents=True, exist_ok=True)
    models = {name: Model(name, folder / name) for name in (names or ZOO)}
    if all(model.folder.is_dir() for model in models.values()):
        return models
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, model in models.items():
            if model.folder.is_dir():
                continue
            start = time.monotonic()
            making = folder / f".making-{name}"
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                make(name, making)
            making.rename(model.folder)
            progress(f"{name}: made in {time.monotonic() - start:.1f} s")
    return models


def repository(models, folder):
    """Lays `models` out below `folder` as a daemon's repository."""
    for name, model in models.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "1" / "model.pt").symlink_to(model.archive)
    return folder


def operator_library():
    """The file that registers torchvision's operators."""
    import torchvision

    return next(Path(torchvision.__file__).parent.glob("_C*.so"))


if __name__ == "__main__":
    ensure(sys.argv[1:] or None, progress=lambda text: print(text, file=sys.stderr))
    print(zoo_folder())
