# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text networks: BERT-base's encoder, an encoder from token ids and mask, a recurrent tagger."""
import numpy as np
from graph import Graph

LOWEST = float(np.finfo(np.float32).min)


def layer_norm(g, x, name, width):
    return g.op("LayerNormalization", x, *g.affine(name, width), axis=-1, epsilon=1e-12)


def erf_gelu(g, x):
    """As exporters below opset 20 write it."""
    erf = g.op("Erf", g.op("Div", x, g.scalar(1.4142135381698608)))
    return g.op("Mul", g.op("Mul", x, g.op("Add", erf, g.scalar(1.0))), g.scalar(0.5))


def encoder_layer(g, x, bias, at, width, heads, split_shape, join_shape, gelu):
    """Post-norm attention and feed-forward. `bias` is added to the scores."""
    size = width // heads

    def project(name, perm):
        y = g.linear(x, f"{at}.{name}", width, width)
        return g.op("Transpose", g.op("Reshape", y, split_shape), perm=perm)

    query = project("query", [0, 2, 1, 3])
    key = project("key", [0, 2, 3, 1])
    value = project("value", [0, 2, 1, 3])
    scores = g.op("Div", g.op("MatMul", query, key), g.scalar(float(np.float32(size**0.5))))
    weights = g.op("Softmax", g.op("Add", scores, bias), axis=-1)
    mixed = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    mixed = g.linear(g.op("Reshape", mixed, join_shape), f"{at}.output", width, width)
    x = layer_norm(g, g.op("Add", mixed, x), f"{at}.norm1", width)
    y = gelu(g, g.linear(x, f"{at}.up", width, 4 * width))
    y = g.linear(y, f"{at}.down", 4 * width, width)
    return layer_norm(g, g.op("Add", y, x), f"{at}.norm2", width)


def score_bias(g, mask):
    """[batch, sequence] of 0 and 1 → [batch, 1, 1, sequence] of the lowest float and 0."""
    kept = g.op("Cast", g.op("Unsqueeze", mask, g.ints(1, 2)), to=9)
    return g.op("Where", kept, g.scalar(0.0), g.scalar(LOWEST))


def bert_base():
    """The twelve layers, from embeddings; sequence 128."""
    g = Graph("bert-base", 17)
    width, heads = 768, 12
    x = g.input("hidden", "FLOAT", ["batch", 128, width])
    bias = score_bias(g, g.input("mask", "INT64", ["batch", 128]))
    x = layer_norm(g, x, "embeddings.norm", width)
    split, join = g.ints(0, 128, heads, width // heads), g.ints(0, 128, width)
    for layer in range(12):
        x = encoder_layer(g, x, bias, f"layer{layer}", width, heads, split, join, erf_gelu)
    g.output(x, "last_hidden", "FLOAT", ["batch", 128, width])
    first = g.op("Gather", x, g.constant("zero", np.int64(0)), axis=1)
    g.output(g.op("Tanh", g.gemm(first, "pooler", width, width)), "pooled", "FLOAT", ["batch", width])
    return g.model()


def token_encoder():
    """Token ids and mask, dynamic batch and sequence (up to 512); shapes are computed in the graph."""
    g = Graph("token-encoder", 20)
    width, heads, vocabulary = 256, 4, 8192
    ids = g.input("input_ids", "INT64", ["batch", "sequence"])
    mask = g.input("attention_mask", "INT64", ["batch", "sequence"])
    shape = g.op("Shape", ids)
    batch = g.op("Gather", shape, g.ints(0), axis=0)
    sequence = g.op("Gather", shape, g.ints(1), axis=0)
    words = g.op("Gather", g.normal("words", (vocabulary, width), 1.0), ids)
    table = g.normal("positions", (512, width), 0.5)
    positions = g.op("Slice", table, g.ints(0), sequence, g.ints(0))
    x = layer_norm(g, g.op("Add", words, positions), "embeddings.norm", width)
    split = g.op("Concat", batch, sequence, g.ints(heads), g.ints(width // heads), axis=0)
    join = g.op("Concat", batch, sequence, g.ints(width), axis=0)
    bias = score_bias(g, mask)
    for layer in range(4):
        at = f"layer{layer}"
        gelu = lambda g, x: g.op("Gelu", x)  # noqa: E731
        x = encoder_layer(g, x, bias, at, width, heads, split, join, gelu)
    g.output(x, "last_hidden", "FLOAT", ["batch", "sequence", width])
    # The mean over the tokens that the mask keeps.
    kept = g.op("Cast", g.op("Unsqueeze", mask, g.ints(-1)), to=1)
    total = g.op("ReduceSum", g.op("Mul", x, kept), g.ints(1), keepdims=0)
    count = g.op("Max", g.op("ReduceSum", kept, g.ints(1), keepdims=0), g.scalar(1.0))
    g.output(g.op("Div", total, count), "sentence", "FLOAT", ["batch", width])
    return g.model()


def tagger():
    """A bidirectional LSTM below a bidirectional GRU: log probabilities of 17 tags for each token."""
    g = Graph("tagger", 19)
    hidden, width, tags = 96, 64, 17
    ids = g.input("tokens", "INT64", ["batch", "sequence"])
    x = g.op("Gather", g.normal("words", (4096, width), 1.0), ids)
    x = g.op("Transpose", x, perm=[1, 0, 2])

    def recurrent(x, kind, gates, n_in, **attributes):
        at = kind.lower()
        std = hidden**-0.5
        y = g.op(
            kind,
            x,
            g.normal(f"{at}.w", (2, gates * hidden, n_in), n_in**-0.5),
            g.normal(f"{at}.r", (2, gates * hidden, hidden), std),
            g.normal(f"{at}.b", (2, 2 * gates * hidden), 0.1),
            hidden_size=hidden,
            direction="bidirectional",
            **attributes,
        )
        # [sequence, 2, batch, hidden] → [sequence, batch, 2 * hidden]
        return g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(0, 0, -1))

    x = recurrent(x, "LSTM", 4, width)
    x = recurrent(x, "GRU", 3, 2 * hidden, linear_before_reset=1)
    x = g.linear(g.op("Transpose", x, perm=[1, 0, 2]), "tags", 2 * hidden, tags)
    g.output(g.op("LogSoftmax", x, axis=-1), "tags", "FLOAT", ["batch", "sequence", tags])
    return g.model()
