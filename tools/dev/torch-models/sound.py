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


class Encoder(torch.nn.Module):
    """Of a codec the part before its codes."""

    def __init__(self, model):
        super().__init__()
        self.encoder = model.encoder

    def forward(self, x):
        return self.encoder(x)


def encodec():
    """Causal convolutions, reflected edges, two LSTM layers."""
    from transformers import EncodecConfig, EncodecModel

    config = EncodecConfig(num_filters=8, hidden_size=32, upsampling_ratios=[4, 2])
    return Export(Encoder(EncodecModel(config)), {"x": torch.randn(2, 1, 1000)}, {"x": {0: "batch", 2: "samples"}})


MODELS = {
    "whisper-encoder": whisper_encoder,
    "wav2vec2": wav2vec2,
    "encodec": encodec,
}
