"""Architectures of timm, one or two of a family, traced."""

import functools

import timm

from integration_tests.networks import awaken, image, settle
from integration_tests.zoo.recipe import Recipe, exposing_buffers, trace, traced

# A family's smallest member where it has one; the side of a picture where 64 will not do.
_MODELS = {
    "beit_base_patch16_224": 224,
    "botnet26t_256": 256,
    "cait_xxs24_224": 224,
    "coat_lite_tiny": 224,
    "coatnet_pico_rw_224": 224,
    "convit_tiny": 224,
    "convmixer_768_32": 64,
    "convnext_atto": 64,
    "convnextv2_atto": 64,
    "crossvit_9_240": 240,
    "cs3darknet_s": 64,
    "cspresnext50": 64,
    "davit_tiny": 64,
    "deit_tiny_distilled_patch16_224": 224,
    "deit3_small_patch16_224": 224,
    "densenetblur121d": 64,
    "dla46_c": 64,
    "dpn48b": 64,
    "edgenext_xx_small": 64,
    "efficientformer_l1": 224,
    "efficientformerv2_s0": 224,
    "efficientnet_b0": 64,
    "efficientvit_b0": 64,
    "efficientvit_m0": 224,
    "eva02_tiny_patch14_224": 224,
    "fasternet_t0": 64,
    "fastvit_t8": 64,
    "fbnetv3_b": 64,
    "focalnet_tiny_srf": 64,
    "gcvit_xxtiny": 224,
    "ghostnet_050": 64,
    "ghostnetv2_100": 64,
    "gmlp_ti16_224": 224,
    "halonet26t": 256,
    "hardcorenas_a": 64,
    "hgnetv2_b0": 64,
    "hiera_tiny_224": 224,
    "hrnet_w18_small": 64,
    "inception_next_atto": 64,
    "inception_resnet_v2": 96,
    "inception_v4": 96,
    "lambda_resnet26t": 64,
    "lcnet_035": 64,
    "levit_128s": 224,
    "mambaout_femto": 64,
    "maxvit_pico_rw_256": 256,
    "mixer_s32_224": 224,
    "mixnet_s": 64,
    "mobilenetv4_conv_small": 64,
    "mobileone_s0": 64,
    "mobilevit_xxs": 64,
    "mobilevitv2_050": 64,
    "mvitv2_tiny": 224,
    "nasnetalarge": 96,
    "nest_tiny": 224,
    "nextvit_small": 64,
    "nf_regnet_b0": 64,
    "nfnet_l0": 64,
    "pit_ti_224": 224,
    "poolformer_s12": 64,
    "pvt_v2_b0": 64,
    "regnety_002": 64,
    "regnetz_b16": 64,
    "repghostnet_050": 64,
    "repvgg_a0": 64,
    "repvit_m0_9": 64,
    "res2net50_14w_8s": 64,
    "resmlp_12_224": 224,
    "resnest14d": 64,
    "resnetv2_50x1_bit": 64,
    "rexnet_100": 64,
    "samvit_base_patch16_224": 224,
    "selecsls42": 64,
    "seresnet50": 64,
    "sequencer2d_s": 224,
    "shvit_s1": 64,
    "skresnet18": 64,
    "starnet_s050": 64,
    "swiftformer_xs": 224,
    "swin_tiny_patch4_window7_224": 224,
    "swinv2_cr_tiny_224": 224,
    "swinv2_tiny_window8_256": 256,
    "tf_efficientnet_lite0": 64,
    "tiny_vit_5m_224": 224,
    "tnt_s_patch16_224": 224,
    "tresnet_m": 64,
    "twins_svt_small": 64,
    "vgg11_bn": 64,
    "visformer_tiny": 224,
    "vit_relpos_small_patch16_224": 224,
    "vit_tiny_patch16_224": 224,
    "vit_tiny_r_s16_p8_224": 224,
    "vitamin_small_224": 224,
    "volo_d1_224": 224,
    "vovnet39a": 64,
    "xception41": 64,
    "xcit_nano_12_p16_224": 64,
}
_TRAINING = ("resnet10t", "mobilenetv3_small_050")


def traced_model(name, side):
    return traced(timm.create_model(name, pretrained=False), image(1, 3, side, side))


def _training(name):
    pictures = image(2, 3, 64, 64)
    model = settle(awaken(timm.create_model(name, pretrained=False, drop_rate=0.0)), pictures).train()
    traced_module, inputs = trace(model, pictures)
    return exposing_buffers(traced_module), inputs


def recipes():
    for name, side in _MODELS.items():
        yield Recipe(name, "timm", functools.partial(traced_model, name, side))
    for name in _TRAINING:
        yield Recipe(f"{name}_training", "timm training", functools.partial(_training, name))
