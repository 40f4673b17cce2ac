# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the dimensions of a model's inputs symbolic."""
import onnx

# Operands whose length decides the rank of a result, or that must have one element: their dimensions stay.
FIXED = {
    "AffineGrid": {1},
    "CenterCropPad": {1},
    "ConstantOfShape": {0},
    "DFT": {1, 2},
    "Expand": {1},
    "If": {0},
    "Loop": {0, 1},
    "MaxUnpool": {2},
    "NonMaxSuppression": {2, 3, 4},
    "OneHot": {1},
    "Pad": {1, 3},
    "Range": {0, 1, 2},
    "Reshape": {1},
    "Resize": {1, 2, 3},
    "Slice": {1, 2, 3, 4},
    "Split": {1},
    "SplitToSequence": {1},
    "Squeeze": {1},
    "StringNormalizer": {0},
    "Tile": {1},
    "TopK": {1},
    "Unsqueeze": {1},
    "Upsample": {1},
}


def fixed_operands(node):
    if node.op_type.startswith("Reduce"):
        return {1}
    return FIXED.get(node.op_type, set())


def subgraphs(graph):
    for node in graph.node:
        for attribute in node.attribute:
            inner = list(attribute.graphs)
            if attribute.HasField("g"):
                inner.append(attribute.g)
            yield from inner


def forget_sizes(value):
    """Keeps a value's rank and element type."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type" or not value.type.tensor_type.HasField("shape"):
        return
    for dim in value.type.tensor_type.shape.dim:
        dim.Clear()


def forget_inside(graph):
    del graph.value_info[:]
    for inner in subgraphs(graph):
        for value in list(inner.input) + list(inner.output):
            forget_sizes(value)
        forget_inside(inner)


def make_dynamic(model):
    """A copy of `model` with a name of its own for every dimension of every input, and its outputs' sizes unknown;
    None where no dimension can become one."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    initialized = {tensor.name for tensor in graph.initializer}
    fixed = set()
    for node in graph.node:
        for index in fixed_operands(node):
            if index < len(node.input):
                fixed.add(node.input[index])
    changed = False
    for number, value in enumerate(graph.input):
        if value.name in initialized or value.name in fixed:
            continue
        if value.type.WhichOneof("value") != "tensor_type":
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.Clear()
            dim.dim_param = f"n{number}_{axis}"
            changed = True
    if not changed:
        return None
    for value in graph.output:
        forget_sizes(value)
    forget_inside(graph)
    return result
