"""Any model of transformers by the name of its class, in its default configuration, with what it mainly takes: a text of 128
tokens, a picture, a second of sound or the features of thirty."""

import torch
import transformers

from integration_tests.networks import image, tokens
from integration_tests.zoo.transformers_models import Positional

LENGTH = 128
SECOND = 16000


def of_class(name, batch):
    kind = getattr(transformers, name)
    config = kind.config_class()
    inputs = inputs_of(kind.main_input_name, config, batch)
    return Positional(kind(config), list(inputs)), tuple(inputs.values())


def inputs_of(main, config, batch):
    if main == "pixel_values":
        side = getattr(config, "image_size", 224)
        sides = (side, side) if isinstance(side, int) else tuple(side)
        frames = (config.num_frames,) if hasattr(config, "num_frames") else ()
        return {main: image(batch, *frames, getattr(config, "num_channels", 3), *sides)}
    if main == "input_features":
        return {main: image(batch, config.num_mel_bins, 2 * config.max_source_positions),
                "decoder_input_ids": tokens(batch, LENGTH // 4)}
    if main == "input_values" and hasattr(config, "num_mel_bins"):
        return {main: image(batch, config.max_length, config.num_mel_bins)}
    if main == "input_values":
        return {main: 0.1 * image(batch, SECOND)}
    length = min(LENGTH, getattr(config, "max_position_embeddings", LENGTH))
    inputs = {main: tokens(batch, length), "attention_mask": torch.ones(batch, length, dtype=torch.int64)}
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = tokens(batch, LENGTH // 4)
    return inputs
