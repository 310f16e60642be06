"""The models that integration tests serve and benchmarks ask: a few of each library, in the forms that archives take
(scripted, traced, frozen, in half precision), with answers that are tensors, lists and dicts."""

import functools

import timm
import torch
import torchvision
import transformers

from integration_tests.networks import awaken, image, settle, tokens
from integration_tests.zoo import torchvision_models
from integration_tests.zoo.recipe import Recipe, scripted, traced

_TEXT = {
    "vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 256,
    "attn_implementation": "eager",
}  # fmt: skip


def recipes():
    yield Recipe("resnet18", "torchvision", _resnet18)
    yield Recipe("resnet18_frozen", "torchvision", lambda: (torch.jit.freeze(_resnet18()[0]), (image(2, 3, 64, 64),)))
    yield Recipe("resnet18_fp16", "torchvision", functools.partial(_resnet18, torch.float16))
    yield Recipe("resnet18_bf16", "torchvision", functools.partial(_resnet18, torch.bfloat16))
    for name, shape, tolerance, options in (
        ("mobilenet_v3_large", (2, 3, 96, 96), None, {}),
        ("efficientnet_b0", (2, 3, 96, 96), None, {}),
        # Its own rounding error is 1e-3 of its answer (against float64): the number of threads shows.
        ("densenet121", (1, 3, 64, 64), (2e-3, 2e-3), {}),
        ("googlenet", (1, 3, 96, 96), None, {"init_weights": False, "aux_logits": True}),
        ("vit_b_16", (1, 3, 112, 112), None, {"image_size": 112}),
        ("swin_t", (1, 3, 96, 96), None, {}),
        ("deeplabv3_mobilenet_v3_large", (1, 3, 96, 96), None, {"weights_backbone": None, "aux_loss": True}),
        ("r3d_18", (1, 3, 8, 48, 48), None, {}),
    ):
        yield Recipe(name, "torchvision", functools.partial(_torchvision, name, shape, options), tolerance)
    yield Recipe("raft_small", "torchvision", lambda: torchvision_models.flow("raft_small"), (1e-3, 1e-3))
    for name, options in (
        ("fasterrcnn_mobilenet_v3_large_320_fpn", {"box_score_thresh": 0.02}),
        ("ssdlite320_mobilenet_v3_large", {"score_thresh": 0.02, "detections_per_img": 50}),
    ):
        yield Recipe(name, "torchvision", functools.partial(_detector, name, options), (1e-3, 1e-3), at_least=20)
    yield Recipe("convnext_tiny", "timm", functools.partial(_timm, "convnext_tiny", 64))
    yield Recipe("mixer_s16_224", "timm", functools.partial(_timm, "mixer_s16_224", 224))
    yield Recipe("bert", "transformers", _bert)
    yield Recipe("gpt2", "transformers", _gpt2)
    yield Recipe("vit_transformers", "transformers", _vit)


def _resnet18(dtype=torch.float32):
    picture = image(2, 3, 64, 64)
    model = settle(awaken(torchvision.models.resnet18(weights=None)), picture)
    return torch.jit.script(model.to(dtype)), (picture.to(dtype),)


def _torchvision(name, shape, options):
    return scripted(torchvision.models.get_model(name, weights=None, **options), image(*shape))


def _detector(name, options):
    return torchvision_models.detector(name, [image(3, 200, 240).sigmoid()], **options)


def _timm(name, side):
    return traced(timm.create_model(name, pretrained=False), image(1, 3, side, side))


def _bert():
    ids = tokens(2, 16)
    mask = torch.ones_like(ids)
    mask[1, 10:] = 0
    return traced(transformers.BertModel(transformers.BertConfig(**_TEXT)), ids, mask, strict=False)


def _gpt2():
    config = transformers.GPT2Config(
        vocab_size=1000, n_positions=64, n_embd=128, n_layer=3, n_head=4, use_cache=False, attn_implementation="eager"
    )
    return traced(transformers.GPT2LMHeadModel(config), tokens(2, 16), strict=False)


def _vit():
    sizes = {key: value for key, value in _TEXT.items() if key != "vocab_size"}
    config = transformers.ViTConfig(**sizes, image_size=64, patch_size=16)
    return traced(transformers.ViTModel(config), image(2, 3, 64, 64), strict=False)
