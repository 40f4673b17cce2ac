# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: root-of-square.py FILE: writes a model with Sqrt(Mul(x, x))."""
import sys

from onnx import TensorProto, checker, helper, save

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 64])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 64])
nodes = [
    helper.make_node("Mul", ["x", "x"], ["square"], name="square"),
    helper.make_node("Sqrt", ["square"], ["y"], name="root"),
]
graph = helper.make_graph(nodes, "root_of_square", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
checker.check_model(model)
save(model, sys.argv[1])
