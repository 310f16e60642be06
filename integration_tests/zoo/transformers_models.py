"""Architectures of transformers in small configurations, traced. (BLOOM is not among them: its activation is a Python
autograd function, which torch.jit.save refuses.)"""

import functools
from dataclasses import dataclass, field
from typing import Optional

import torch
import transformers

from integration_tests.networks import image, tokens
from integration_tests.zoo.recipe import Recipe, traced

ENCODER = {
    "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
}  # fmt: skip
DECODER = {**ENCODER, "num_key_value_heads": 2, "max_position_embeddings": 64}
VISION = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64,
    "patch_size": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    model: str  # the class of the model; its configuration's is found from it
    options: dict = field(default_factory=dict)
    inputs: tuple = ("input_ids", "attention_mask")
    tolerance: Optional[tuple] = None


TEXT = ("input_ids", "attention_mask")
IDS = ("input_ids",)
SEQUENCE = ("input_ids", "decoder_input_ids")
PICTURE = ("pixel_values",)

_ARCHITECTURES = {
    "albert": Architecture("AlbertModel", {**ENCODER, "embedding_size": 32}, TEXT),
    "bart": Architecture("BartModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, SEQUENCE),
    "beit": Architecture("BeitModel", VISION, PICTURE),
    "bert": Architecture("BertForSequenceClassification", ENCODER, TEXT),
    "clip": Architecture("CLIPModel", {
        "text_config": {**ENCODER, "max_position_embeddings": 32, "eos_token_id": 2}, "vision_config": VISION,
        "projection_dim": 32,
    }, ("input_ids", "pixel_values", "attention_mask")),
    "convbert": Architecture("ConvBertModel", {**ENCODER, "embedding_size": 64}, TEXT),
    "convnextv2": Architecture("ConvNextV2Model", {"hidden_sizes": [16, 32, 64, 96], "depths": [1, 1, 2, 1]}, PICTURE),
    "data2vec_text": Architecture("Data2VecTextModel", ENCODER, TEXT),
    "deberta": Architecture("DebertaModel", {
        **ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32,
    }, TEXT),
    "deberta_v2": Architecture("DebertaV2Model", {
        **ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32,
    }, TEXT),
    "detr": Architecture("DetrForObjectDetection", {
        "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
        "backbone_config": {"model_type": "resnet", "hidden_sizes": [16, 32, 48, 64], "embedding_size": 16,
                            "depths": [1, 1, 1, 1], "out_features": ["stage4"]},
        "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_queries": 10,
    }, PICTURE),
    "dinov2": Architecture("Dinov2Model", VISION, PICTURE),
    "distilbert": Architecture("DistilBertModel", {
        "vocab_size": 1000, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128,
    }, TEXT),
    "electra": Architecture("ElectraModel", {**ENCODER, "embedding_size": 32}, TEXT),
    "falcon": Architecture("FalconForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    }, TEXT),
    "fnet": Architecture("FNetModel", ENCODER, IDS),
    "funnel": Architecture("FunnelModel", {
        "vocab_size": 1000, "block_sizes": [1, 1], "d_model": 64, "n_head": 4, "d_head": 16, "d_inner": 128,
        "num_decoder_layers": 1,
    }, TEXT),
    "gemma": Architecture("GemmaForCausalLM", {**DECODER, "head_dim": 16}, TEXT),
    "gemma2": Architecture("Gemma2ForCausalLM", {**DECODER, "head_dim": 16}, TEXT),
    "gpt2": Architecture("GPT2LMHeadModel", {
        "vocab_size": 1000, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4,
    }, TEXT),
    "gpt_neo": Architecture("GPTNeoForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64,
        "attention_types": [[["global", "local"], 1]], "window_size": 8,
    }, TEXT),
    "gpt_neox": Architecture("GPTNeoXForCausalLM", {**ENCODER, "max_position_embeddings": 64}, TEXT),
    "gptj": Architecture("GPTJForCausalLM", {
        "vocab_size": 1000, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8,
    }, TEXT),
    "layoutlm": Architecture("LayoutLMModel", ENCODER, ("input_ids", "bbox", "attention_mask")),
    "levit": Architecture("LevitModel", {"image_size": 64, "hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 3, 4],
                                          "depths": [1, 1, 1], "key_dim": [8, 8, 8]},
                           # Its last batch norms see two numbers a channel, and magnify what rounding makes of them.
                           PICTURE, (1e-3, 1e-3)),
    "llama": Architecture("LlamaForCausalLM", DECODER, TEXT),
    "longformer": Architecture("LongformerModel", {**ENCODER, "attention_window": 4, "max_position_embeddings": 64}, TEXT),
    "mamba": Architecture("MambaForCausalLM", {
        "vocab_size": 1000, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8,
    }, IDS),
    "mbart": Architecture("MBartModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, SEQUENCE),
    "mistral": Architecture("MistralForCausalLM", {**DECODER, "sliding_window": 8}, TEXT),
    "mixtral": Architecture("MixtralForCausalLM", {**DECODER, "num_local_experts": 4}, TEXT),
    "mobilebert": Architecture("MobileBertModel", {**ENCODER, "embedding_size": 32, "true_hidden_size": 32,
                                                    "intra_bottleneck_size": 32}, TEXT),
    "modernbert": Architecture("ModernBertModel", {**ENCODER, "pad_token_id": 0, "global_attn_every_n_layers": 2}, TEXT),
    "mpnet": Architecture("MPNetModel", ENCODER, TEXT),
    "opt": Architecture("OPTForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128,
        "max_position_embeddings": 64, "word_embed_proj_dim": 64,
    }, TEXT),
    "pegasus": Architecture("PegasusModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, SEQUENCE),
    "phi": Architecture("PhiForCausalLM", {**DECODER, "num_key_value_heads": 4}, TEXT),
    "phi3": Architecture("Phi3ForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "qwen2": Architecture("Qwen2ForCausalLM", DECODER, TEXT),
    "qwen3": Architecture("Qwen3ForCausalLM", {**DECODER, "head_dim": 16}, TEXT),
    "rembert": Architecture("RemBertModel", {**ENCODER, "input_embedding_size": 32}, TEXT),
    "roberta": Architecture("RobertaForMaskedLM", ENCODER, TEXT),
    "roformer": Architecture("RoFormerModel", {**ENCODER, "embedding_size": 64}, TEXT),
    "segformer": Architecture("SegformerForSemanticSegmentation", {
        "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32,
    }, PICTURE),
    "siglip": Architecture("SiglipVisionModel", VISION, PICTURE),
    "squeezebert": Architecture("SqueezeBertModel", {**ENCODER, "embedding_size": 64}, TEXT),
    "swin": Architecture("SwinModel", {
        "image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4,
    }, PICTURE),
    "t5": Architecture("T5Model", {
        "vocab_size": 1000, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
    }, SEQUENCE),
    "videomae": Architecture("VideoMAEModel", {**VISION, "num_frames": 4}, ("video",)),
    "vit": Architecture("ViTModel", VISION, PICTURE),
    "wav2vec2": Architecture("Wav2Vec2Model", {
        **ENCODER, "conv_dim": [32, 32, 32], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    }, ("input_values",)),
    "whisper": Architecture("WhisperModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 32,
        "num_mel_bins": 16, "pad_token_id": 0, "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2,
    }, ("input_features", "decoder_input_ids")),
    "xlm": Architecture("XLMModel", {"vocab_size": 1000, "emb_dim": 64, "n_layers": 2, "n_heads": 4}, TEXT),
    "xlnet": Architecture("XLNetModel", {"vocab_size": 1000, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128},
                           TEXT),
    "yolos": Architecture("YolosForObjectDetection", {**VISION, "image_size": [64, 64], "num_detection_tokens": 10},
                           PICTURE),
}  # fmt: skip


class Positional(torch.nn.Module):
    """Hands positional arguments to a model by name, with nothing cached between calls, and gives the tensors of its
    answer in their order."""

    def __init__(self, model, names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *arguments):
        answer = self.model(**dict(zip(self.names, arguments)), **self.fixed())
        return tuple(_tensors(answer))

    def fixed(self):
        return {"use_cache": False} if getattr(self.model.config, "use_cache", None) else {}


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _tensors(element)
    elif isinstance(value, dict):
        for element in value.values():
            yield from _tensors(element)


# Arguments of one name that differ in what they are.
_CALLED = {"video": "pixel_values", "spectrogram": "input_values"}


def _argument(name):
    mask = torch.ones(2, 16, dtype=torch.int64)
    mask[1, 10:] = 0
    made = {
        "input_ids": lambda: tokens(2, 16),
        "decoder_input_ids": lambda: tokens(2, 8),
        "attention_mask": lambda: mask,
        "bbox": lambda: tokens(2, 16 * 4, 500).reshape(2, 16, 4).sort(-1).values,
        "pixel_values": lambda: image(2, 3, 64, 64),
        "spectrogram": lambda: image(2, 64, 16),
        "video": lambda: image(1, 4, 3, 64, 64),
        "input_values": lambda: image(2, 1600),
        "input_features": lambda: image(2, 16, 64),
    }
    return made[name]()


def make(architecture):
    """The model, traced, and its arguments."""
    kind = getattr(transformers, architecture.model)
    config = kind.config_class(**architecture.options)
    config._attn_implementation = "eager"
    inputs = tuple(_argument(name) for name in architecture.inputs)
    names = [_CALLED.get(name, name) for name in architecture.inputs]
    model = Positional(kind(config), names)
    return traced(model, *inputs)


def recipes():
    for name, architecture in _ARCHITECTURES.items():
        yield Recipe(name, "transformers", functools.partial(make, architecture), architecture.tolerance)
