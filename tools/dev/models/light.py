# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The light models of the onnx package with seeded weights where they make constants with ConstantOfShape."""
from pathlib import Path

import onnx
from convolutional import RESIDUAL_GAMMA
from graph import IR_VERSION, normal, uniform
from onnx import numpy_helper

NAMES = {
    "light-alexnet": "bvlc_alexnet",
    "light-densenet121": "densenet121",
    "light-inception-v1": "inception_v1",
    "light-inception-v2": "inception_v2",
    "light-resnet50": "resnet50",
    "light-shufflenet": "shufflenet",
    "light-squeezenet": "squeezenet",
    "light-vgg19": "vgg19",
    "light-zfnet512": "zfnet512",
}
# Small logits: a softmax that is 1 for one class and 0 for the rest hides every difference.
SOFTMAX_GAIN = 0.1
BATCH_NORM_PART = {1: "scale", 2: "shift", 3: "mean", 4: "variance"}


def role_of(users, tensor):
    """What a weight is for: weight, bias, or a part of a normalisation; and the node that has it."""
    node, index = users[tensor][0]
    if node.op_type == "Unsqueeze":  # a scale layer: Mul, then Add, over channels
        node, index = users[node.output[0]][0]
        return {"Mul": "scale", "Add": "shift"}[node.op_type], node
    if node.op_type == "Reshape":  # of a Gemm's weight; the last dim stays the fan-in
        node, index = users[node.output[0]][0]
    if node.op_type == "BatchNormalization":
        return BATCH_NORM_PART[index], node
    return {1: "weight", 2: "bias"}[index], node


def values(role, node, shape, residual, gain, *names):
    if role == "weight":
        # Conv [out, in / group, h, w], Gemm with transB [out, in] or [1, 1, out, in].
        fan_in = shape[-1]
        if node.op_type == "Conv":
            fan_in = shape[1] * shape[2] * shape[3]
        return normal(shape, (gain / fan_in) ** 0.5, *names)
    if role == "scale":
        gamma = RESIDUAL_GAMMA if residual else 1.0
        return uniform(shape, 0.8 * gamma, 1.2 * gamma, *names)
    if role == "variance":
        return uniform(shape, 0.6, 1.4, *names)
    return normal(shape, 0.1, *names)


def seeded(name):
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    model = onnx.load(folder / f"light_{NAMES[name]}.onnx")
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    users = {}
    for node in graph.node:
        for index, tensor in enumerate(node.input):
            users.setdefault(tensor, []).append((node, index))
    producers = {output: node for node in graph.node for output in node.output}
    # Of the operands of a residual sum, the first that a normalisation made.
    branches = set()
    for node in graph.node:
        made = [t for t in node.input if producers.get(t) and producers[t].op_type == "BatchNormalization"]
        if node.op_type == "Sum" and made:
            branches.add(made[0])

    weights, kept, gone = [], [], set()
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        tensor = node.output[0]
        shape = tuple(int(size) for size in shapes[node.input[0]])
        role, user = role_of(users, tensor)
        # A ReLU halves what comes in; a normalisation does not.
        before = producers.get(user.input[0])
        gain = 1 if before is not None and before.op_type == "BatchNormalization" else 2
        if any(node.op_type == "Softmax" for node, _ in users.get(user.output[0], [])):
            gain = SOFTMAX_GAIN
        data = values(role, user, shape, user.output[0] in branches, gain, name, tensor)
        weights.append(numpy_helper.from_array(data, tensor))
        gone.add(node.input[0])
    rest = [i for i in graph.initializer if i.name not in gone]
    names = {i.name for i in rest} | {w.name for w in weights} | gone
    inputs = [i for i in graph.input if i.name not in names]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(kept)
    graph.initializer.extend(rest + weights)
    graph.input.extend(inputs)
    # Below 4, initialisers would have to be inputs as well.
    model.ir_version = IR_VERSION
    model.producer_name = "kiln seeded models"
    return model
