# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's node tests as batches: rows.py KILNC [--filter GLOB] [--every N]

Each test whose inputs have one first dim of 2 or more is compiled with that dim
as the batch. Where Kiln says that rows stay apart, every row is run alone, and
must give what it gives in the batch: a rule that claims too much fails here.
"""
import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
import warnings

import kiln
import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conformance"))
from dynamic import fixed_operands  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("kilnc")
parser.add_argument("--filter", default="*")
parser.add_argument("--every", type=int, default=1)
arguments = parser.parse_args()


def same(row, batch):
    if row.shape != batch.shape:
        return False
    if row.dtype.kind not in "fV":
        return np.array_equal(row, batch)
    # Kernels for more rows may sum in another order.
    return np.allclose(row.astype(float), batch.astype(float), rtol=1e-3, atol=1e-5, equal_nan=True)


def check(case, folder):
    """None when it is no batch; else whether it is separable."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    graph = model.graph
    inputs = case.data_sets[0][0]
    plain = all(isinstance(x, np.ndarray) and x.dtype.kind in "fiub" for x in inputs)
    if not plain or len(inputs) != len(graph.input):
        return None
    fixed = {node.input[i] for node in graph.node for i in fixed_operands(node) if i < len(node.input)}
    free = [(value, x) for value, x in zip(graph.input, inputs) if x.ndim and value.name not in fixed]
    rows = max((x.shape[0] for _, x in free), default=0)
    if rows < 2:
        return None
    for value, data in free:
        if data.shape[0] == rows:
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
    for value in graph.output:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"{value.name}_{axis}"
    path, artefact = os.path.join(folder, "model.onnx"), os.path.join(folder, case.name + ".so")
    onnx.save(model, path)
    command = [arguments.kilnc, path, "--batch-dim", "batch", "--header", "", "-o", artefact]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    compiled = kiln.load(artefact, threads=1)
    os.unlink(artefact)
    if not compiled.separable:
        return False
    whole = compiled.run(inputs)
    for row in range(rows):
        part = [
            x if spec.batch_axis is None else np.take(x, [row], axis=spec.batch_axis)
            for spec, x in zip(compiled.inputs, inputs)
        ]
        alone = compiled.run(part)
        for spec in compiled.outputs:
            expected = whole[spec.name]
            if spec.batch_axis is not None:
                expected = np.split(expected, rows, axis=spec.batch_axis)[row]
            if not same(alone[spec.name], expected):
                raise AssertionError(f"row {row} of '{spec.name}' is not the same alone")
    return True


warnings.simplefilter("ignore")
counts, failures = {None: 0, False: 0, True: 0}, []
cases = [c for c in load_model_tests(kind="node") if fnmatch.fnmatch(c.name, arguments.filter)]
with tempfile.TemporaryDirectory() as folder:
    for case in cases[:: arguments.every]:
        try:
            counts[check(case, folder)] += 1
        except AssertionError as failure:
            failures.append(f"{case.name}: {failure}")
        except kiln.Error:  # a size that the model refuses
            counts[None] += 1
for failure in failures:
    print(failure)
print(f"{counts[True]} separable, {counts[False]} not, {counts[None]} no batch, {len(failures)} wrong")
sys.exit(bool(failures) or not counts[True])
