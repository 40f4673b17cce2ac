# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Depthwise convolutions in one kernel with pointwise ones, against a plain computation.

usage: depthwise_pointwise.py KILNC

Sizes that leave remainders of tiles, blocks and panels, and sizes that only the run knows.
"""
import os
import subprocess
import sys
import tempfile

import kiln
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Channels, multiplier, outputs, kernel, stride, dilation, pad, heights x widths, residual, type.
CASES = [
    (8, 1, 12, 3, 1, 1, 1, [(1, 14, 14)], True, np.float32),
    (5, 1, 7, 3, 2, 1, 1, [(2, 13, 17)], False, np.float32),
    (6, 2, 33, 5, 1, 1, 2, [(1, 9, 3)], True, np.float32),
    (16, 1, 24, 3, 1, 2, 2, [(3, 23, 40)], False, np.float32),
    (40, 1, 16, 3, 1, 1, 0, [(1, 3, 3), (1, 130, 5)], False, np.float32),
    (96, 1, 20, 3, 1, 1, 1, [(1, 57, 56)], True, np.float32),
    (12, 1, 8, 3, 2, 1, 1, [(1, 1, 1), (2, 7, 31), (1, 40, 9)], False, np.float32),
    (48, 1, 4, 3, 1, 1, 1, [(1, 9, 2500)], False, np.float32),
    (24, 1, 9, 3, 1, 1, 1, [(1, 16, 16), (1, 5, 33)], True, np.float16),
]


def reference(x, w, b, v, c, stride, dilation, pad, residual):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    times, kernel = w.shape[0] // x.shape[1], w.shape[2]
    x = np.repeat(x, times, axis=1)
    height, width = ((size - dilation * (kernel - 1) - 1) // stride + 1 for size in x.shape[2:])
    y = np.zeros((x.shape[0], w.shape[0], height, width))
    for r in range(kernel):
        for s in range(kernel):
            rows = slice(r * dilation, r * dilation + stride * (height - 1) + 1, stride)
            columns = slice(s * dilation, s * dilation + stride * (width - 1) + 1, stride)
            y += x[:, :, rows, columns] * w[:, 0, r, s].astype(np.float64)[:, None, None]
    y = np.maximum(y + b.astype(np.float64)[:, None, None], 0)
    y = np.einsum("nchw,oc->nohw", y, v[:, :, 0, 0].astype(np.float64)) + c.astype(np.float64)[:, None, None]
    return y if residual is None else y + residual


def model(path, case, weights, isDynamic):
    channels, times, outputs, kernel, stride, dilation, pad, sizes, hasResidual, dtype = case
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    batch, height, width = ("n", "h", "w") if isDynamic else sizes[-1]
    shape, made = [batch, channels, height, width], [batch, outputs, None, None]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["d"], group=channels, strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4),
        helper.make_node("Relu", ["d"], ["a"]),
        helper.make_node("Conv", ["a", "v", "c"], ["p" if hasResidual else "y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", element, shape)]
    if hasResidual:  # of the image's size: stride and padding are such
        inputs.append(helper.make_tensor_value_info("r", element, [batch, outputs, height, width]))
        nodes.append(helper.make_node("Add", ["p", "r"], ["y"]))
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info("y", element, made)],
        [numpy_helper.from_array(value, name) for name, value in zip("wbvc", weights)],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def check(kilnc, case, isDynamic, random):
    channels, times, outputs, kernel, stride, dilation, pad, sizes, hasResidual, dtype = case
    draw = lambda *shape: random.uniform(-1, 1, shape).astype(dtype)  # noqa: E731
    weights = [draw(channels * times, 1, kernel, kernel), draw(channels * times), draw(outputs, channels * times, 1, 1), draw(outputs)]
    with tempfile.TemporaryDirectory() as folder:
        path, artefact = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.so")
        model(path, case, weights, isDynamic)
        told = subprocess.run([kilnc, path, "--explain", "--no-records", "-o", artefact], check=True, capture_output=True, text=True).stdout
        assert "depthwise_pointwise (fusion): " in told and "1 fired" in told.split("depthwise_pointwise (fusion): ")[1].split("\n")[0], told
        loaded = kiln.load(artefact, threads=2)
        for batch, height, width in sizes if isDynamic else sizes[-1:]:
            inputs = {"x": draw(batch, channels, height, width)}
            y = reference(inputs["x"], *weights, stride, dilation, pad, None)
            if hasResidual:
                inputs["r"] = draw(*y.shape)
                y = y + inputs["r"].astype(np.float64)
            got = loaded.run(inputs)["y"].astype(np.float64)
            assert got.shape == y.shape, (case, got.shape, y.shape)
            error = np.abs(got - y).max() / np.abs(y).max()
            assert error < (4e-3 if dtype == np.float16 else 2e-6), (case, isDynamic, error)


def main():
    random = np.random.default_rng(1)
    count = 0
    for case in CASES:
        for isDynamic in (False, True):
            check(sys.argv[1], case, isDynamic, random)
            count += 1
    print(f"{count} models")


main()
