"""Architectures of transformers in small configurations, traced. (BLOOM is not among them: its activation is a Python
autograd function, which torch.jit.save refuses.)"""

import functools
from dataclasses import dataclass, field
from typing import Optional

import torch
import transformers

from integration_tests.networks import image, tokens
from integration_tests.zoo.recipe import Recipe, traced

_ENCODER = {
    "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
}  # fmt: skip
_DECODER = {**_ENCODER, "num_key_value_heads": 2, "max_position_embeddings": 64}
_VISION = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64,
    "patch_size": 16,
}  # fmt: skip


@dataclass(frozen=True)
class _Architecture:
    model: str  # the class of the model; its configuration's is found from it
    options: dict = field(default_factory=dict)
    inputs: tuple = ("input_ids", "attention_mask")
    tolerance: Optional[tuple] = None


_TEXT = ("input_ids", "attention_mask")
_IDS = ("input_ids",)
_SEQUENCE = ("input_ids", "decoder_input_ids")
_PICTURE = ("pixel_values",)

_ARCHITECTURES = {
    "albert": _Architecture("AlbertModel", {**_ENCODER, "embedding_size": 32}, _TEXT),
    "bart": _Architecture("BartModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, _SEQUENCE),
    "beit": _Architecture("BeitModel", _VISION, _PICTURE),
    "bert": _Architecture("BertForSequenceClassification", _ENCODER, _TEXT),
    "clip": _Architecture("CLIPModel", {
        "text_config": {**_ENCODER, "max_position_embeddings": 32, "eos_token_id": 2}, "vision_config": _VISION,
        "projection_dim": 32,
    }, ("input_ids", "pixel_values", "attention_mask")),
    "convbert": _Architecture("ConvBertModel", {**_ENCODER, "embedding_size": 64}, _TEXT),
    "convnextv2": _Architecture("ConvNextV2Model", {"hidden_sizes": [16, 32, 64, 96], "depths": [1, 1, 2, 1]}, _PICTURE),
    "data2vec_text": _Architecture("Data2VecTextModel", _ENCODER, _TEXT),
    "deberta": _Architecture("DebertaModel", {
        **_ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32,
    }, _TEXT),
    "deberta_v2": _Architecture("DebertaV2Model", {
        **_ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32,
    }, _TEXT),
    "detr": _Architecture("DetrForObjectDetection", {
        "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None,
        "backbone_config": {"model_type": "resnet", "hidden_sizes": [16, 32, 48, 64], "embedding_size": 16,
                            "depths": [1, 1, 1, 1], "out_features": ["stage4"]},
        "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "num_queries": 10,
    }, _PICTURE),
    "dinov2": _Architecture("Dinov2Model", _VISION, _PICTURE),
    "distilbert": _Architecture("DistilBertModel", {
        "vocab_size": 1000, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128,
    }, _TEXT),
    "electra": _Architecture("ElectraModel", {**_ENCODER, "embedding_size": 32}, _TEXT),
    "falcon": _Architecture("FalconForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    }, _TEXT),
    "fnet": _Architecture("FNetModel", _ENCODER, _IDS),
    "funnel": _Architecture("FunnelModel", {
        "vocab_size": 1000, "block_sizes": [1, 1], "d_model": 64, "n_head": 4, "d_head": 16, "d_inner": 128,
        "num_decoder_layers": 1,
    }, _TEXT),
    "gemma": _Architecture("GemmaForCausalLM", {**_DECODER, "head_dim": 16}, _TEXT),
    "gemma2": _Architecture("Gemma2ForCausalLM", {**_DECODER, "head_dim": 16}, _TEXT),
    "gpt2": _Architecture("GPT2LMHeadModel", {
        "vocab_size": 1000, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4,
    }, _TEXT),
    "gpt_neo": _Architecture("GPTNeoForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64,
        "attention_types": [[["global", "local"], 1]], "window_size": 8,
    }, _TEXT),
    "gpt_neox": _Architecture("GPTNeoXForCausalLM", {**_ENCODER, "max_position_embeddings": 64}, _TEXT),
    "gptj": _Architecture("GPTJForCausalLM", {
        "vocab_size": 1000, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8,
    }, _TEXT),
    "layoutlm": _Architecture("LayoutLMModel", _ENCODER, ("input_ids", "bbox", "attention_mask")),
    "levit": _Architecture("LevitModel", {"image_size": 64, "hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 3, 4],
                                          "depths": [1, 1, 1], "key_dim": [8, 8, 8]},
                           # Its last batch norms see two numbers a channel, and magnify what rounding makes of them.
                           _PICTURE, (1e-3, 1e-3)),
    "llama": _Architecture("LlamaForCausalLM", _DECODER, _TEXT),
    "longformer": _Architecture("LongformerModel", {**_ENCODER, "attention_window": 4, "max_position_embeddings": 64}, _TEXT),
    "mamba": _Architecture("MambaForCausalLM", {
        "vocab_size": 1000, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8,
    }, _IDS),
    "mbart": _Architecture("MBartModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, _SEQUENCE),
    "mistral": _Architecture("MistralForCausalLM", {**_DECODER, "sliding_window": 8}, _TEXT),
    "mixtral": _Architecture("MixtralForCausalLM", {**_DECODER, "num_local_experts": 4}, _TEXT),
    "mobilebert": _Architecture("MobileBertModel", {**_ENCODER, "embedding_size": 32, "true_hidden_size": 32,
                                                    "intra_bottleneck_size": 32}, _TEXT),
    "modernbert": _Architecture("ModernBertModel", {**_ENCODER, "pad_token_id": 0, "global_attn_every_n_layers": 2}, _TEXT),
    "mpnet": _Architecture("MPNetModel", _ENCODER, _TEXT),
    "opt": _Architecture("OPTForCausalLM", {
        "vocab_size": 1000, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128,
        "max_position_embeddings": 64, "word_embed_proj_dim": 64,
    }, _TEXT),
    "pegasus": _Architecture("PegasusModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    }, _SEQUENCE),
    "phi": _Architecture("PhiForCausalLM", {**_DECODER, "num_key_value_heads": 4}, _TEXT),
    "phi3": _Architecture("Phi3ForCausalLM", {**_DECODER, "pad_token_id": 0}, _TEXT),
    "qwen2": _Architecture("Qwen2ForCausalLM", _DECODER, _TEXT),
    "qwen3": _Architecture("Qwen3ForCausalLM", {**_DECODER, "head_dim": 16}, _TEXT),
    "rembert": _Architecture("RemBertModel", {**_ENCODER, "input_embedding_size": 32}, _TEXT),
    "roberta": _Architecture("RobertaForMaskedLM", _ENCODER, _TEXT),
    "roformer": _Architecture("RoFormerModel", {**_ENCODER, "embedding_size": 64}, _TEXT),
    "segformer": _Architecture("SegformerForSemanticSegmentation", {
        "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32,
    }, _PICTURE),
    "siglip": _Architecture("SiglipVisionModel", _VISION, _PICTURE),
    "squeezebert": _Architecture("SqueezeBertModel", {**_ENCODER, "embedding_size": 64}, _TEXT),
    "swin": _Architecture("SwinModel", {
        "image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4,
    }, _PICTURE),
    "t5": _Architecture("T5Model", {
        "vocab_size": 1000, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4,
    }, _SEQUENCE),
    "videomae": _Architecture("VideoMAEModel", {**_VISION, "num_frames": 4}, ("video",)),
    "vit": _Architecture("ViTModel", _VISION, _PICTURE),
    "wav2vec2": _Architecture("Wav2Vec2Model", {
        **_ENCODER, "conv_dim": [32, 32, 32], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
        "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
    }, ("input_values",)),
    "whisper": _Architecture("WhisperModel", {
        "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_source_positions": 32,
        "num_mel_bins": 16, "pad_token_id": 0, "decoder_start_token_id": 1, "bos_token_id": 1, "eos_token_id": 2,
    }, ("input_features", "decoder_input_ids")),
    "xlm": _Architecture("XLMModel", {"vocab_size": 1000, "emb_dim": 64, "n_layers": 2, "n_heads": 4}, _TEXT),
    "xlnet": _Architecture("XLNetModel", {"vocab_size": 1000, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128},
                           _TEXT),
    "yolos": _Architecture("YolosForObjectDetection", {**_VISION, "image_size": [64, 64], "num_detection_tokens": 10},
                           _PICTURE),
}  # fmt: skip


class _Positional(torch.nn.Module):
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


def _argument(name):
    mask = torch.ones(2, 16, dtype=torch.int64)
    mask[1, 10:] = 0
    made = {
        "input_ids": lambda: tokens(2, 16),
        "decoder_input_ids": lambda: tokens(2, 8),
        "attention_mask": lambda: mask,
        "bbox": lambda: tokens(2, 16 * 4, 500).reshape(2, 16, 4).sort(-1).values,
        "pixel_values": lambda: image(2, 3, 64, 64),
        "video": lambda: image(1, 4, 3, 64, 64),
        "input_values": lambda: image(2, 1600),
        "input_features": lambda: image(2, 16, 64),
    }
    return made[name]()


def _make(architecture):
    kind = getattr(transformers, architecture.model)
    config = kind.config_class(**architecture.options)
    config._attn_implementation = "eager"
    inputs = tuple(_argument(name) for name in architecture.inputs)
    names = ["pixel_values" if name == "video" else name for name in architecture.inputs]
    model = _Positional(kind(config), names)
    return traced(model, *inputs)


def recipes():
    for name, architecture in _ARCHITECTURES.items():
        yield Recipe(name, "transformers", functools.partial(_make, architecture), architecture.tolerance)
