# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a graph of N layers, the feed-forward half of a transformer's, 19 nodes each: LayerNorm and GELU spelled out.

    many-layers.py N FILE
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
from models import FLOAT, model, node, tensor, value  # noqa: E402

WIDTH = 8


def layer(i, x, constant):
    """The nodes of a layer that reads x, and the name of what it makes."""
    names = iter(f"l{i}_{k}" for k in range(19))
    nodes = []

    def add(op, *inputs, **attributes):
        out = next(names)
        nodes.append(node(op, list(inputs), [out], name="/" + out, **attributes))
        return out

    centred = add("Sub", x, add("ReduceMean", x, axes=[-1]))
    variance = add("ReduceMean", add("Pow", centred, constant(2.0)), axes=[-1])
    normal = add("Div", centred, add("Sqrt", add("Add", variance, constant(1e-5))))
    normal = add("Add", add("Mul", normal, "scale"), "shift")
    up = add("Add", add("MatMul", normal, "w"), "shift")
    erf = add("Add", add("Erf", add("Div", up, constant(1.4142135))), constant(1.0))
    active = add("Mul", add("Mul", up, erf), constant(0.5))
    return nodes, add("Add", add("Add", add("MatMul", active, "w"), "shift"), x)


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    constants = {}

    def constant(number):
        return constants.setdefault(number, f"c{len(constants)}")

    nodes, x = [], "x"
    for i in range(count):
        more, x = layer(i, x, constant)
        nodes += more
    nodes.append(node("Identity", [x], ["y"]))
    row = [1.0 + k / 16 for k in range(WIDTH)]
    tensors = [tensor("w", FLOAT, [WIDTH, WIDTH], row * WIDTH), tensor("scale", FLOAT, [WIDTH], row),
               tensor("shift", FLOAT, [WIDTH], row)]
    tensors += [tensor(name, FLOAT, [], [number]) for number, name in constants.items()]
    dims = [4, WIDTH]
    with open(path, "wb") as file:
        file.write(model(nodes, [value("x", FLOAT, dims)], [value("y", FLOAT, dims)], tensors, opset=17))


main()
