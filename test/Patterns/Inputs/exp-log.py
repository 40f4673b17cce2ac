# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exp-log.py FILE: writes log(exp(x)) and relu(x + x), named nodes."""
import sys

from onnx import TensorProto, helper, save

nodes = [
    helper.make_node("Exp", ["x"], ["e"], name="my_exp"),
    helper.make_node("Log", ["e"], ["l"], name="my_log"),
    helper.make_node("Add", ["l", "x"], ["s"], name="my_add"),
    helper.make_node("Relu", ["s"], ["y"], name="my_relu"),
]
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy")
graph = helper.make_graph(nodes, "g", [x], [y])
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), sys.argv[1])
