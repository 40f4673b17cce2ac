# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sound models of transformers, from small configurations, without pretrained weights."""
import torch

from export import Export


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(
        d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128, max_source_positions=60
    )
    return Export(WhisperEncoder(config), {"input_features": torch.randn(2, 80, 120)}, {"input_features": {0: "batch"}}, ("last_hidden_state",))


def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        conv_dim=(32, 32, 32), conv_stride=(5, 4, 2), conv_kernel=(10, 4, 3), num_feat_extract_layers=3,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
    )
    return Export(Wav2Vec2ForCTC(config), {"input_values": torch.randn(2, 2000)}, {"input_values": {0: "batch", 1: "samples"}}, ("logits",))


MODELS = {
    "whisper-encoder": whisper_encoder,
    "wav2vec2": wav2vec2,
}
