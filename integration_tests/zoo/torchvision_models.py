"""Every model of torchvision, scripted; those that have a quantized form also in that form; some in training mode."""

import functools

import torch
from torchvision import models

from integration_tests.networks import SEED, awaken, image, settle
from integration_tests.zoo.recipe import Recipe, exposing_buffers, scripted

# Sizes other than 64 by 64 for a picture, and options that let a model take a smaller one than it was published with.
_PICTURES = {
    "inception_v3": 96,
    "quantized_inception_v3": 96,
    "googlenet": 96,
    "quantized_googlenet": 96,
    "alexnet": 96,
    "maxvit_t": 224,
}
_SMALLER = {
    "vit_b_16": (64, {"image_size": 64}),
    "vit_b_32": (96, {"image_size": 96}),
    "vit_l_16": (64, {"image_size": 64}),
    "vit_l_32": (96, {"image_size": 96}),
    "vit_h_14": (56, {"image_size": 56}),
}
_CLIPS = {
    "mc3_18": (1, 3, 8, 48, 48),
    "r2plus1d_18": (1, 3, 8, 48, 48),
    "r3d_18": (1, 3, 8, 48, 48),
    "mvit_v1_b": (1, 3, 16, 224, 224),
    "mvit_v2_s": (1, 3, 16, 224, 224),
    "s3d": (1, 3, 16, 224, 224),
    "swin3d_b": (1, 3, 4, 64, 64),
    "swin3d_s": (1, 3, 4, 64, 64),
    "swin3d_t": (1, 3, 4, 64, 64),
}
# Low thresholds: with random weights nothing scores high, and an answer without a box proves nothing. Few proposals and
# boxes: every one costs a run through a head.
_TWO_STAGES = {"box_score_thresh": 0.02, "rpn_post_nms_top_n_test": 100, "box_detections_per_img": 10}
_DETECTORS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": _TWO_STAGES,
    "fasterrcnn_mobilenet_v3_large_fpn": _TWO_STAGES,
    "fasterrcnn_resnet50_fpn": _TWO_STAGES,
    "fasterrcnn_resnet50_fpn_v2": _TWO_STAGES,
    "fcos_resnet50_fpn": {"score_thresh": 0.02},
    "keypointrcnn_resnet50_fpn": _TWO_STAGES,
    "maskrcnn_resnet50_fpn": _TWO_STAGES,
    "maskrcnn_resnet50_fpn_v2": _TWO_STAGES,
    "retinanet_resnet50_fpn": {"score_thresh": 0.02},
    "retinanet_resnet50_fpn_v2": {"score_thresh": 0.02},
    "ssd300_vgg16": {"score_thresh": 0.02, "detections_per_img": 50},
    "ssdlite320_mobilenet_v3_large": {"score_thresh": 0.02, "detections_per_img": 50},
}
_FIXED_SIZE = ("ssd300_vgg16", "ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_320_fpn")
# Written to while they run: batch statistics. Dropout and stochastic depth draw random numbers.
_TRAINING = ("resnet18", "densenet121", "mobilenet_v2", "efficientnet_b0", "shufflenet_v2_x0_5", "googlenet")


def _unpretrained(name):
    """The options under which no weights are fetched."""
    options = {"weights": None}
    if name in _DETECTORS or name.startswith(("deeplabv3", "fcn_", "lraspp")):
        options["weights_backbone"] = None
    if "googlenet" in name or "inception_v3" in name:
        options["init_weights"] = False  # its own initialisation takes minutes
    return options


def _classifier(name):
    size, options = _SMALLER.get(name, (_PICTURES.get(name, 64), {}))
    return scripted(models.get_model(name, **_unpretrained(name), **options), image(1, 3, size, size))


def _segmenter(name):
    options = {} if name.startswith("lraspp") else {"aux_loss": True}
    return scripted(models.get_model(name, **_unpretrained(name), **options), image(1, 3, 64, 64))


def _video(name):
    return scripted(models.get_model(name, weights=None), image(*_CLIPS[name]))


def detector(name, pictures, **options):
    """A detector, scripted, and its arguments. Its batch norms see the pictures that it is asked about."""
    model = models.get_model(name, **_unpretrained(name), **options)
    settle(awaken(model), pictures)
    generator = torch.Generator().manual_seed(SEED + 2)
    with torch.no_grad():
        for part, parameter in model.named_parameters():
            # Wider class weights: scores that differ, so that their order is not decided by rounding.
            if part.endswith(("cls_score.weight", "cls_logits.weight")):
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return torch.jit.script(model), (pictures,)


def _detector(name):
    options = dict(_DETECTORS[name])
    if name not in _FIXED_SIZE:
        options.update(min_size=160, max_size=256)
    return detector(name, [image(3, 160, 192).sigmoid(), image(3, 140, 170).sigmoid()], **options)


def flow(name):
    model = awaken(models.get_model(name, weights=None))
    first, second = image(1, 3, 128, 128).clamp(-1, 1), image(1, 3, 128, 128).flip(3).clamp(-1, 1)
    settle(model, first, second)
    # RAFT refines its answer twelve times; three say as much about the code.
    return torch.jit.script(model), (first, second, 3)


def _quantized(name):
    """Calibrated on the picture that it will be asked about, then converted."""
    size = _PICTURES.get(name, 64)
    picture = image(1, 3, size, size)
    model = models.get_model(name, quantize=False, **_unpretrained(name))
    settle(awaken(model), picture)
    model.fuse_model(is_qat=False)
    model.qconfig = torch.ao.quantization.get_default_qconfig(torch.backends.quantized.engine)
    torch.ao.quantization.prepare(model, inplace=True)
    with torch.no_grad():
        model(picture)
    torch.ao.quantization.convert(model, inplace=True)
    return torch.jit.script(model), (picture,)


def _training(name):
    pictures = image(2, 3, 96, 96)
    model = models.get_model(name, **_unpretrained(name))
    settle(awaken(model), pictures)
    return exposing_buffers(torch.jit.script(model.train())), (pictures,)


def _kind(name):
    if name in _DETECTORS:
        return _detector
    if name in _CLIPS:
        return _video
    if name.startswith("raft"):
        return flow
    return _segmenter if name.startswith(("deeplabv3", "fcn_", "lraspp")) else _classifier


def recipes():
    names = models.list_models()
    for name in names:
        kind = _kind(name)
        yield Recipe(name, "torchvision", functools.partial(kind, name), at_least=20 if kind is _detector else 2)
    for name in names:
        if name.startswith("quantized_"):
            yield Recipe(f"{name}_int8", "torchvision quantized", functools.partial(_quantized, name))
    for name in _TRAINING:
        yield Recipe(f"{name}_training", "torchvision training", functools.partial(_training, name))
