# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text and sound models of transformers, from small configurations, without pretrained weights."""
import torch

from export import Export

VOCABULARY = 256
TOKENS = {0: "batch", 1: "sequence"}


def tokens():
    return torch.randint(0, VOCABULARY, (2, 16))


def text_encoder(module, *outputs):
    """From token ids and a mask; both batch and sequence are dynamic."""
    inputs = {"input_ids": tokens(), "attention_mask": torch.ones(2, 16, dtype=torch.int64)}
    return Export(module, inputs, {"input_ids": TOKENS, "attention_mask": TOKENS}, outputs)


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        num_labels=5,
    )
    return text_encoder(BertForSequenceClassification(config), "logits")


def roberta():
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    return text_encoder(RobertaModel(config), "last_hidden_state", "pooler_output")


def distilbert():
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=VOCABULARY, dim=64, n_layers=2, n_heads=4, hidden_dim=128)
    return text_encoder(DistilBertModel(config), "last_hidden_state")


def clip_text():
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        eos_token_id=VOCABULARY - 1,
    )
    return text_encoder(CLIPTextModel(config), "last_hidden_state", "pooler_output")


def t5_encoder():
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
    return text_encoder(T5EncoderModel(config), "last_hidden_state")


def gpt2_config():
    from transformers import GPT2Config

    return GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=128)


def gpt2():
    from transformers import GPT2LMHeadModel

    return text_encoder(GPT2LMHeadModel(gpt2_config()), "logits")


class WithPast(torch.nn.Module):
    """A decoder's step: new tokens and the keys and values of those before, flat; gives all of them back."""

    def __init__(self, model, layers):
        super().__init__()
        self.model, self.layers = model, layers

    def forward(self, input_ids, **past):
        from transformers import DynamicCache

        cache = DynamicCache([(past[f"past_key_{i}"], past[f"past_value_{i}"]) for i in range(self.layers)])
        result = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        present = [t for layer in result.past_key_values.layers for t in (layer.keys, layer.values)]
        return (result.logits, *present)


def with_past(model, layers, heads, size):
    inputs = {"input_ids": tokens()[:, :4]}
    dims = {"input_ids": TOKENS}
    for layer in range(layers):
        for part in ("key", "value"):
            inputs[f"past_{part}_{layer}"] = torch.randn(2, heads, 9, size)
            dims[f"past_{part}_{layer}"] = {0: "batch", 2: "past"}
    return Export(WithPast(model, layers), inputs, dims)


def gpt2_past():
    from transformers import GPT2LMHeadModel

    return with_past(GPT2LMHeadModel(gpt2_config()), layers=2, heads=4, size=16)


def llama_config():
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=128, max_position_embeddings=128,
    )


def llama():
    from transformers import LlamaForCausalLM

    return text_encoder(LlamaForCausalLM(llama_config()), "logits")


def llama_past():
    from transformers import LlamaForCausalLM

    return with_past(LlamaForCausalLM(llama_config()), layers=2, heads=2, size=16)


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
    "bert": bert,
    "roberta": roberta,
    "distilbert": distilbert,
    "clip-text": clip_text,
    "t5-encoder": t5_encoder,
    "gpt2": gpt2,
    "gpt2-past": gpt2_past,
    "llama": llama,
    "llama-past": llama_past,
    "whisper-encoder": whisper_encoder,
    "wav2vec2": wav2vec2,
}
