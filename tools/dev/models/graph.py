# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small ONNX graph builder with seeded weights."""
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

IR_VERSION = 8


def generator(*names):
    """Numbers that depend on the names only: neither on the order of calls nor on the machine."""
    return np.random.default_rng([zlib.crc32(name.encode()) for name in names])


def normal(shape, std, *names):
    return generator(*names).standard_normal(shape, dtype=np.float32) * np.float32(std)


def uniform(shape, low, high, *names):
    unit = generator(*names).random(shape, dtype=np.float32)
    return unit * np.float32(high - low) + np.float32(low)


def model_bytes(model):
    return model.SerializeToString(deterministic=True)


class Graph:
    """Ops are appended in order; tensors are named by text."""

    def __init__(self, name, opset):
        self.name, self.opset = name, opset
        self.nodes, self.initializers, self.inputs, self.outputs = [], {}, [], []

    def input(self, name, dtype, dims):
        self.inputs.append(helper.make_tensor_value_info(name, getattr(TensorProto, dtype), dims))
        return name

    def output(self, tensor, name, dtype, dims):
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, getattr(TensorProto, dtype), dims))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name, value):
        """An initialiser; equal names must have equal values."""
        value = np.asarray(value)
        if name in self.initializers:
            assert np.array_equal(self.initializers[name], value), name
        self.initializers[name] = value
        return name

    def ints(self, *values):
        return self.constant("i_" + "_".join(map(str, values)).replace("-", "m"), np.int64(values))

    def scalar(self, value):
        return self.constant(f"f_{value}".replace("-", "m"), np.float32(value))

    def normal(self, name, shape, std):
        return self.constant(name, normal(shape, std, self.name, name))

    def uniform(self, name, shape, low, high):
        return self.constant(name, uniform(shape, low, high, self.name, name))

    # What most networks use.

    def conv(self, x, name, channels_in, channels, kernel, stride=1, group=1, bias=False, gain=2.0):
        """`gain` 2 keeps the variance through a ReLU."""
        fan_in = channels_in // group * kernel * kernel
        shape = (channels, channels_in // group, kernel, kernel)
        inputs = [x, self.normal(f"{name}.weight", shape, (gain / fan_in) ** 0.5)]
        if bias:
            inputs.append(self.normal(f"{name}.bias", (channels,), 0.1))
        pad = (kernel - 1) // 2
        return self.op(
            "Conv",
            *inputs,
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad] * 4,
            group=group,
        )

    def batch_norm(self, x, name, channels, gamma=1.0):
        return self.op(
            "BatchNormalization",
            x,
            self.uniform(f"{name}.weight", (channels,), 0.8 * gamma, 1.2 * gamma),
            self.normal(f"{name}.bias", (channels,), 0.1),
            self.normal(f"{name}.mean", (channels,), 0.1),
            self.uniform(f"{name}.var", (channels,), 0.6, 1.4),
        )

    def affine(self, name, channels):
        """Scale and shift of a normalisation."""
        return (
            self.uniform(f"{name}.weight", (channels,), 0.8, 1.2),
            self.normal(f"{name}.bias", (channels,), 0.1),
        )

    def linear(self, x, name, n_in, n_out):
        """MatMul and Add, as exporters write it for more than two dims."""
        weight = self.normal(f"{name}.weight", (n_in, n_out), n_in**-0.5)
        return self.op("Add", self.op("MatMul", x, weight), self.normal(f"{name}.bias", (n_out,), 0.1))

    def gemm(self, x, name, n_in, n_out):
        weight = self.normal(f"{name}.weight", (n_out, n_in), n_in**-0.5)
        return self.op("Gemm", x, weight, self.normal(f"{name}.bias", (n_out,), 0.1), transB=1)

    def model(self):
        graph = helper.make_graph(
            self.nodes,
            self.name,
            self.inputs,
            self.outputs,
            [numpy_helper.from_array(value, name) for name, value in self.initializers.items()],
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION if self.opset < 20 else 10,
            producer_name="kiln seeded models",
        )
