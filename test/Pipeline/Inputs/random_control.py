# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models of nested If, Loop and Scan, against ONNX Runtime.

    usage: random_control.py FOLDER FIRST LAST

Models FIRST to LAST - 1 (the number is the seed) are compiled and run at several sizes. Prints one line a fault.
"""
import random
import subprocess
import sys
from pathlib import Path

import kiln
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# What a value may be: a vector, a matrix of four columns and any number of rows, a number, an integer.
KINDS = {
    "V": (TensorProto.FLOAT, [4]),
    "M": (TensorProto.FLOAT, [None, 4]),
    "S": (TensorProto.FLOAT, []),
    "I": (TensorProto.INT64, []),
}


class Graph:
    """A graph that grows; `scope` holds the values of each kind that its nodes may use."""

    def __init__(self, models, scope, depth):
        self.models, self.random, self.depth = models, models.random, depth
        self.scope = {kind: list(names) for kind, names in scope.items()}
        self.nodes = []

    def add(self, op, inputs, **attributes):
        output = self.models.name()
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def constant(self, value):
        return self.add("Constant", [], value=numpy_helper.from_array(np.asarray(value)))

    def integer(self, value):
        return self.constant(np.int64(value))

    def axes(self, *values):
        return self.constant(np.array(values, np.int64))

    def some(self, kind):
        return self.random.choice(self.scope[kind])

    def learn(self, kind, name):
        self.scope[kind].append(name)

    def total(self, value):
        return self.add("ReduceSum", [value], keepdims=0)

    def rows(self):
        return self.add("Gather", [self.add("Shape", [self.some("M")]), self.integer(0)])

    def condition(self):
        which = self.random.randrange(4)
        if which == 0:
            return self.add("Greater", [self.total(self.some("V")), self.constant(np.float32(self.random.uniform(-1, 1)))])
        if which == 1:
            op = self.random.choice(["Greater", "Equal", "LessOrEqual"])
            return self.add(op, [self.rows(), self.integer(self.random.randrange(1, 6))])
        if which == 2:
            op = self.random.choice(["Greater", "Equal"])
            return self.add(op, [self.some("I"), self.integer(self.random.randrange(4))])
        return self.add("Cast", [self.add("Mod", [self.some("I"), self.integer(2)])], to=TensorProto.BOOL)

    def trips(self):
        which = self.random.randrange(4)
        if which == 0:
            return self.integer(self.random.randrange(5))
        if which == 1:
            return self.add("Min", [self.some("I"), self.integer(4)])
        if which == 2:
            return self.add("Min", [self.rows(), self.integer(5)])
        return self.integer(3)

    def vector_op(self):
        return self.add("Add", [self.some("V"), self.some("V")])

    def scaled_vector(self):
        return self.add("Tanh", [self.add("Mul", [self.some("V"), self.some("S")])])

    def column_sums(self):
        return self.add("Tanh", [self.add("ReduceSum", [self.some("M"), self.axes(0)], keepdims=0)])

    def longer_matrix(self):
        return self.add("Concat", [self.some("M"), self.add("Unsqueeze", [self.some("V"), self.axes(0)])], axis=0)

    def matrix_op(self):
        return self.add("Tanh", [self.add("Add", [self.some("M"), self.some("V")])])

    def part_of_matrix(self):
        bounds = [self.axes(self.random.randrange(2)), self.axes(self.random.randrange(2, 5))]
        return self.add("Slice", [self.some("M"), *bounds, self.axes(0)])

    def mean(self):
        return self.add("Tanh", [self.add("ReduceMean", [self.some("V")], keepdims=0)])

    def number(self):
        return self.add("Cast", [self.some("I")], to=TensorProto.FLOAT)

    def integer_op(self):
        return self.add("Mod", [self.add("Add", [self.some("I"), self.some("I")]), self.integer(7)])

    def grow(self, count):
        simple = [
            ("V", self.vector_op), ("V", self.scaled_vector), ("V", self.column_sums), ("M", self.longer_matrix),
            ("M", self.matrix_op), ("M", self.part_of_matrix), ("S", self.mean), ("S", self.number),
            ("I", self.integer_op),
        ]  # fmt: skip
        nested = [self.branch, self.branch, self.loop, self.loop, self.scan] if self.depth else []
        for _ in range(count):
            which = self.random.randrange(len(simple) + len(nested))
            if which < len(simple):
                kind, make = simple[which]
                self.learn(kind, make())
            else:
                nested[which - len(simple)]()
        return self

    def inner(self, count, more=()):
        graph = Graph(self.models, self.scope, self.depth - 1)
        for kind, name in more:
            graph.learn(kind, name)
        return graph.grow(count)

    def outputs(self, kinds):
        """Values of these kinds, the newest or any, as outputs."""
        names = [self.scope[kind][-1] if self.random.random() < 0.6 else self.some(kind) for kind in kinds]
        return [info(self.add("Identity", [name]), kind) for name, kind in zip(names, kinds)]

    def branch(self):
        kinds = self.random.choices("VMMSI", k=self.random.randrange(1, 4))
        condition, graphs = self.condition(), []
        for _ in range(2):
            graph = self.inner(self.random.randrange(4))
            graphs.append(helper.make_graph(graph.nodes, "branch", [], graph.outputs(kinds)))
        names = [self.models.name() for _ in kinds]
        self.nodes.append(helper.make_node("If", [condition], names, then_branch=graphs[0], else_branch=graphs[1]))
        for kind, name in zip(kinds, names):
            self.learn(kind, name)

    def loop(self):
        kinds = self.random.choices("VMMSI", k=self.random.randrange(4))
        stacks = self.random.choices("VSI", k=self.random.randrange(0 if kinds else 1, 3))
        trips, condition = self.trips(), "" if self.random.random() < 0.6 else self.condition()
        inits = [self.some(kind) for kind in kinds]
        iteration, holds = self.models.name(), self.models.name()
        arguments = [self.models.name() for _ in kinds]
        graph = self.inner(self.random.randrange(1, 5), [("I", iteration), *zip(kinds, arguments)])
        go_on = graph.add("Identity", [holds]) if self.random.random() < 0.5 else graph.condition()
        inputs = [info(iteration, "I"), helper.make_tensor_value_info(holds, TensorProto.BOOL, [])]
        inputs += [info(name, kind) for name, kind in zip(arguments, kinds)]
        outputs = [helper.make_tensor_value_info(go_on, TensorProto.BOOL, [])]
        outputs += graph.outputs(kinds) + graph.outputs(stacks)
        body = helper.make_graph(graph.nodes, "loop", inputs, outputs)
        self.finish_loop(kinds, stacks, "Loop", [trips, condition, *inits], body=body)

    def scan(self):
        kinds = self.random.choices("VS", k=self.random.randrange(3))
        stacks = self.random.choices("VS", k=self.random.randrange(1, 3))
        inits, rows = [self.some(kind) for kind in kinds], self.some("M")
        arguments, row = [self.models.name() for _ in kinds], self.models.name()
        graph = self.inner(self.random.randrange(1, 4), [*zip(kinds, arguments), ("V", row)])
        inputs = [info(name, kind) for name, kind in zip(arguments, kinds)] + [info(row, "V")]
        body = helper.make_graph(graph.nodes, "scan", inputs, graph.outputs(kinds) + graph.outputs(stacks))
        self.finish_loop(
            kinds, stacks, "Scan", [*inits, rows], body=body, num_scan_inputs=1,
            scan_input_directions=[self.random.randrange(2)],
            scan_output_directions=[self.random.randrange(2) for _ in stacks],
        )  # fmt: skip

    def finish_loop(self, kinds, stacks, op, inputs, **attributes):
        names = [self.models.name() for _ in kinds + stacks]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        for kind, name in zip(kinds, names):
            self.learn(kind, name)
        for kind, name in zip(stacks, names[len(kinds) :]):
            if kind == "V":
                self.learn("M", name)
            elif kind == "S":
                self.learn("S", self.add("Tanh", [self.total(name)]))
            else:
                self.learn("I", self.add("Mod", [self.total(name), self.integer(5)]))


def info(name, kind):
    element, shape = KINDS[kind]
    return helper.make_tensor_value_info(name, element, None if kind == "M" else shape)


class Models:
    def __init__(self, seed):
        self.random, self.names = random.Random(seed), 0

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def make(self, rows):
        scope = {"V": ["v"], "M": ["m"], "S": ["s"], "I": ["i"]}
        graph = Graph(self, scope, depth=2).grow(self.random.randrange(3, 7))
        outputs = []
        for kind, (element, shape) in KINDS.items():
            name = graph.add("Identity", [graph.scope[kind][-1]])
            outputs.append(helper.make_tensor_value_info(name, element, shape))
        inputs = [info("v", "V"), helper.make_tensor_value_info("m", TensorProto.FLOAT, [rows, 4]), info("s", "S"), info("i", "I")]
        model = helper.make_model(
            helper.make_graph(graph.nodes, "random", inputs, outputs), opset_imports=[helper.make_opsetid("", 16)]
        )
        model.ir_version = 8
        return model


def check(seed, folder):
    """What is wrong, or nothing."""
    dynamic = seed % 2 == 0
    path, artefact = folder / f"{seed}.onnx", folder / f"{seed}.so"
    onnx.save(Models(seed).make("n" if dynamic else 3), path)
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception:  # ONNX Runtime reserves room for INT64_MAX iterations
        return None
    done = subprocess.run(["kilnc", path, "-o", artefact], capture_output=True, text=True)
    if done.returncode:
        return f"kilnc: {done.stderr}"
    model = kiln.load(str(artefact), threads=1)
    names = [output.name for output in session.get_outputs()]
    for number, rows in enumerate([3, 1, 6] if dynamic else [3, 3]):
        values = np.random.default_rng(number)
        feeds = {
            "v": values.uniform(-1, 1, 4).astype(np.float32),
            "m": values.uniform(-1, 1, (rows, 4)).astype(np.float32),
            "s": np.array(values.uniform(-1, 1), np.float32),
            "i": np.array(2 * number, np.int64),
        }
        try:
            wanted = session.run(names, feeds)
        except Exception:  # it cannot scan a matrix without rows
            continue
        got = model.run(feeds)
        for name, value in zip(names, wanted):
            if got[name].shape != value.shape or not np.allclose(got[name], value, 1e-4, 1e-5):
                return f"{rows} rows, output {name}: {got[name]} is not {value}"
    return None


def main():
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    onnxruntime.set_default_logger_severity(4)
    for seed in range(first, last):
        if fault := check(seed, folder):
            print(f"model {seed}: {fault}")
    print(f"{last - first} models")


if __name__ == "__main__":
    main()
