# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text models of transformers, from small configurations, without pretrained weights."""
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


def albert():
    from transformers import AlbertConfig, AlbertModel

    config = AlbertConfig(
        vocab_size=VOCABULARY, embedding_size=32, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128,
    )
    return text_encoder(AlbertModel(config), "last_hidden_state", "pooler_output")


def mpnet():
    """Relative positions in buckets, as T5's."""
    from transformers import MPNetConfig, MPNetModel

    config = MPNetConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    return text_encoder(MPNetModel(config), "last_hidden_state", "pooler_output")


def deberta():
    """Attention to positions apart from contents: GatherElements of the scores."""
    from transformers import DebertaV2Config, DebertaV2Model

    config = DebertaV2Config(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        relative_attention=True, max_relative_positions=64, position_buckets=16, pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False, max_position_embeddings=64,
    )
    return text_encoder(DebertaV2Model(config), "last_hidden_state")


def bloom():
    """Biases by distance (ALiBi) from a running sum of the mask."""
    from transformers import BloomConfig, BloomForCausalLM

    config = BloomConfig(vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4)
    return text_encoder(BloomForCausalLM(config), "logits")


def qwen3():
    """Normalised queries and keys."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, intermediate_size=128, max_position_embeddings=128,
    )
    return text_encoder(Qwen3ForCausalLM(config), "logits")


def gemma3():
    """Layers with a sliding window beside layers without."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    config = Gemma3TextConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, intermediate_size=128, max_position_embeddings=128, sliding_window=8,
        layer_types=["sliding_attention", "full_attention"],
    )
    return text_encoder(Gemma3ForCausalLM(config), "logits")


def encoder_decoder(module):
    inputs = {"input_ids": tokens(), "attention_mask": torch.ones(2, 16, dtype=torch.int64), "decoder_input_ids": tokens()[:, :7]}
    dims = {"input_ids": TOKENS, "attention_mask": TOKENS, "decoder_input_ids": {0: "batch", 1: "past"}}
    module.config.use_cache = False
    return Export(module, inputs, dims, ("logits",))


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )
    return encoder_decoder(T5ForConditionalGeneration(config))


def bart():
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=128,
    )
    return encoder_decoder(BartForConditionalGeneration(config))


def attention(build):
    """The same at opset 24, where the exporter writes Attention and not its parts."""
    model = build()
    model.opset = 24
    return model


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
    "albert": albert,
    "mpnet": mpnet,
    "deberta": deberta,
    "bloom": bloom,
    "qwen3": qwen3,
    "gemma3": gemma3,
    "t5": t5,
    "bart": bart,
    "bert-opset24": lambda: attention(bert),
    "llama-past-opset24": lambda: attention(llama_past),
}
