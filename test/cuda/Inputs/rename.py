# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives every node of a model another name: rename.py FROM TO"""
import sys

import onnx

model = onnx.load(sys.argv[1])
for i, node in enumerate(model.graph.node):
    node.name = f"other{i}"
onnx.save(model, sys.argv[2])
