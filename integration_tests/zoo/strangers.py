"""Architectures of transformers, traced, and of torchaudio, scripted, that no other list of models names: what no work on the
compiler has had before its eyes."""

import functools

import torch
import torchaudio

from integration_tests.networks import image
from integration_tests.zoo.recipe import Recipe, scripted
from integration_tests.zoo.transformers_models import (
    DECODER, ENCODER, IDS, PICTURE, SEQUENCE, TEXT, VISION, Architecture, make,
)  # fmt: skip

_SPEECH = {
    **ENCODER, "conv_dim": [32, 32, 32], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 3],
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
_TRANSLATOR = {
    "vocab_size": 1000, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "max_position_embeddings": 64,
    "pad_token_id": 0,
}  # fmt: skip

_TRANSFORMERS = {
    "audio_spectrogram": Architecture("ASTModel", {**VISION, "max_length": 64, "num_mel_bins": 16}, ("spectrogram",)),
    "biogpt": Architecture("BioGptModel", {**ENCODER, "max_position_embeddings": 64}, TEXT),
    "codegen": Architecture("CodeGenForCausalLM", {
        "vocab_size": 1000, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 8,
    }, IDS),
    "cohere": Architecture("CohereForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "convnext": Architecture("ConvNextModel", {"hidden_sizes": [16, 32, 64, 96], "depths": [1, 1, 2, 1]}, PICTURE),
    "ctrl": Architecture("CTRLModel", {"vocab_size": 1000, "n_embd": 64, "n_layer": 2, "n_head": 4, "dff": 128}, IDS),
    "data2vec_vision": Architecture("Data2VecVisionModel", VISION, PICTURE),
    "deit": Architecture("DeiTModel", VISION, PICTURE),
    "ernie": Architecture("ErnieModel", ENCODER, TEXT),
    "esm": Architecture("EsmModel", {**ENCODER, "pad_token_id": 1, "position_embedding_type": "rotary"}, TEXT),
    "focalnet": Architecture("FocalNetModel", {"image_size": 64, "embed_dim": 16, "depths": [1, 1, 1, 1]}, PICTURE),
    "glpn": Architecture("GLPNForDepthEstimation", {
        "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32,
        "num_attention_heads": [1, 2, 3, 4],
    }, PICTURE),
    "gpt_bigcode": Architecture("GPTBigCodeModel", {
        "vocab_size": 1000, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64,
    }, IDS),
    "granite": Architecture("GraniteForCausalLM", DECODER, TEXT),
    "hubert": Architecture("HubertModel", _SPEECH, ("input_values",)),
    "ibert": Architecture("IBertModel", ENCODER, TEXT),
    "marian": Architecture("MarianModel", {**_TRANSLATOR, "decoder_start_token_id": 0}, SEQUENCE),
    "megatron_bert": Architecture("MegatronBertModel", ENCODER, TEXT),
    "mobilenet_v2": Architecture("MobileNetV2Model", {"image_size": 64, "depth_multiplier": 0.5}, PICTURE),
    "mobilevit": Architecture("MobileViTModel", {
        "image_size": 64, "hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 80],
        "num_attention_heads": 4,
    }, PICTURE),
    "mpt": Architecture("MptModel", {"vocab_size": 1000, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
                        TEXT),
    "olmo": Architecture("OlmoForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "olmo2": Architecture("Olmo2ForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "persimmon": Architecture("PersimmonForCausalLM", {**ENCODER, "max_position_embeddings": 64, "pad_token_id": 0}, TEXT),
    "poolformer": Architecture("PoolFormerModel", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}, PICTURE),
    "pvt": Architecture("PvtModel", {
        "image_size": 64, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 3, 4],
    }, PICTURE),
    "regnet": Architecture("RegNetModel", {"embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
                                           "groups_width": 8}, PICTURE),
    "roc_bert": Architecture("RoCBertModel", {
        **ENCODER, "enable_pronunciation": False, "enable_shape": False, "concat_input": False,
    }, TEXT),
    "splinter": Architecture("SplinterModel", ENCODER, TEXT),
    "stablelm": Architecture("StableLmForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "starcoder2": Architecture("Starcoder2ForCausalLM", {**DECODER, "pad_token_id": 0}, TEXT),
    "swinv2": Architecture("Swinv2Model", {
        "image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4,
    }, PICTURE),
    "timesformer": Architecture("TimesformerModel", {**VISION, "num_frames": 4}, ("video",)),
    "wavlm": Architecture("WavLMModel", _SPEECH, ("input_values",)),
    "xglm": Architecture("XGLMModel", {
        "vocab_size": 1000, "d_model": 64, "num_layers": 2, "attention_heads": 4, "ffn_dim": 128,
        "max_position_embeddings": 64,
    }, TEXT),
    "xlm_roberta": Architecture("XLMRobertaModel", ENCODER, TEXT),
}  # fmt: skip


def _sounds(*shape):
    return 0.1 * image(*shape)


def _lengths(*values):


    return torch.tensor(values)


_TORCHAUDIO = {
    "conformer": lambda: scripted(
        torchaudio.models.Conformer(16, 4, 32, 2, 7), image(2, 20, 16), _lengths(20, 12)),
    "conv_tasnet": lambda: scripted(
        torchaudio.models.ConvTasNet(enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=2,
                                     msk_num_stacks=2), _sounds(2, 1, 800)),
    "emformer": lambda: scripted(torchaudio.models.Emformer(16, 4, 32, 2, 4), image(2, 20, 16), _lengths(20, 16)),
    "wav2letter": lambda: scripted(torchaudio.models.Wav2Letter(num_classes=10, num_features=16), image(2, 16, 3000)),
    "wavernn": lambda: scripted(
        torchaudio.models.WaveRNN([5, 5, 8], n_classes=16, hop_length=200, n_res_block=2, n_rnn=32, n_fc=32, n_hidden=16,
                                  n_output=16), _sounds(1, 1, 200 * 6), image(1, 1, 128, 10)),
}


def recipes():
    for name, architecture in _TRANSFORMERS.items():
        yield Recipe(name, "transformers strangers", functools.partial(make, architecture), architecture.tolerance)
    for name, made in _TORCHAUDIO.items():
        yield Recipe(name, "torchaudio", made)
