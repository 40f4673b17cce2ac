# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs for fuzz: each node is run by ONNX Runtime, at every size, as it is drawn."""
import random

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

# Values of the symbolic dims in each of the runs.
SIZES = [{"n": 1, "h": 8, "w": 12}, {"n": 3, "h": 17, "w": 9}, {"n": 2, "h": 33, "w": 31}]
CHANNELS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 48, 64, 70]
# Larger graphs take longer than they find.
MAX_ELEMENTS, MAX_WEIGHTS = 60000, 100000
CHEAP = ["Relu", "LeakyRelu", "HardSwish", "HardSigmoid", "Neg", "Abs", "Clip"]
EXPENSIVE = ["Sigmoid", "Tanh", "Erf", "Gelu", "Softplus", "Mish", "Elu", "Exp", "Swish"]


class Unfit(Exception):
    """The op drawn does not suit the values drawn for it."""


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def make_model(graph):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def value_info(name, array, dims=None):
    shape = dims if dims is not None else [None] * array.ndim
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


class Graph:
    """Nodes, and what every value is at each of the sizes: each node is run as it is made."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.RandomState(seed % 2**32)
        self.values, self.inputs, self.nodes, self.constants = {}, {}, [], []
        self.count, self.depth = 0, 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def numbers_of(self, shape):
        return self.numbers.uniform(-1, 1, shape).astype(np.float32)

    def constant(self, array):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        self.values[name] = [np.asarray(array)] * len(SIZES)
        return name

    def weights(self, *shape):
        if np.prod(shape) > MAX_WEIGHTS:
            raise Unfit
        fan = max(1, int(np.prod(shape[1:])))
        return self.constant(self.numbers_of(shape) * np.float32(1.5 / np.sqrt(fan)))

    def input(self, dims, make=None):
        name = self.name()
        self.inputs[name] = dims
        shapes = [[sizes.get(d, d) for d in dims] for sizes in SIZES]
        self.values[name] = [np.asarray((make or self.numbers_of)(shape)) for shape in shapes]
        return name

    def reads(self, node):
        inner = [n for a in node.attribute if a.HasField("g") for n in a.g.node]
        names = [i for i in node.input if i] + [i for n in inner for i in self.reads(n)]
        return [i for i in dict.fromkeys(names) if i in self.values]

    def add(self, op, inputs, outputs=1, **attributes):
        node = helper.make_node(op, inputs, [self.name() for _ in range(outputs)], **attributes)
        reads = self.reads(node)
        # What a run does not change must be a constant here as well (pads, axes).
        fixed = [c for c in self.constants if c.name in reads]
        free = [i for i in reads if i not in {c.name for c in fixed}]
        graph = helper.make_graph([node], "node", [value_info(i, self.values[i][0]) for i in free],
                                  [onnx.ValueInfoProto(name=o) for o in node.output], fixed)
        try:
            run = session(make_model(graph))
            results = [run.run(None, {i: self.values[i][s] for i in free}) for s in range(len(SIZES))]
        except Exception as error:  # ONNX Runtime says what the op does not allow
            raise Unfit from error
        for result in results:
            for array in result:
                if array.size > MAX_ELEMENTS or array.dtype.kind == "f" and not np.abs(array).max(initial=0) < 1e3:
                    raise Unfit
        for i, output in enumerate(node.output):
            self.values[output] = [result[i] for result in results]
        self.nodes.append(node)
        return node.output[0]

    def shape(self, name):
        return self.values[name][0].shape

    def take(self, *ranks):
        """A float value, late ones rather than early ones."""
        found = [v for v, a in self.values.items()
                 if a[0].dtype == np.float32 and a[0].ndim in ranks and v not in {c.name for c in self.constants}]
        if not found:
            raise Unfit
        return self.random.choice(found[-3:] if self.chance(0.75) else found)

    def alike(self, name, but=None):
        """Values of the same shape at every size, or of one that differs in dim `but` alone."""
        def shapes(v):
            return [tuple(d for i, d in enumerate(a.shape) if i != but) + (a.ndim,) for a in self.values[v]]
        return [v for v in self.values if self.values[v][0].dtype == np.float32 and shapes(v) == shapes(name)]

    # Ops --------------------------------------------------------------------

    def step(self):
        kinds = {self.conv: 6, self.conv_transpose: 3, self.batch_norm: 1, self.activation: 5, self.binary: 4, self.concat: 2,
                 self.pad: 1, self.resize: 1, self.pool: 2, self.matmul: 4, self.gemm: 2, self.reduce: 2,
                 self.softmax: 1, self.layer_norm: 1, self.gather: 1, self.transpose: 2, self.slice: 1, self.flatten: 1}
        if self.depth < 2:
            kinds.update({self.branch: 1, self.loop: 2})
        return self.random.choices(list(kinds), list(kinds.values()))[0]()

    def window(self, rank, kernels):
        r = self.random
        same = self.chance(0.5)
        kernel = [r.choice(kernels)] * rank if same else [r.choice(kernels) for _ in range(rank)]
        strides = [r.choice([1, 1, 1, 2, 2, 3, 4])] * rank if same else [r.choice([1, 1, 2, 3]) for _ in range(rank)]
        dilations = [r.choice([1, 1, 1, 1, 2, 3]) for _ in range(rank)]
        if self.chance(0.35):  # what models have most, and what has kernels of its own
            kernel = [self.pick(3, 3, max(kernels[1], 2), 4)] * rank
            strides, dilations = [1 if kernels[1] == 1 or self.chance(0.2) else self.pick(2, 2, 4)] * rank, [1] * rank
        middle = [(k - 1) * d // 2 for k, d in zip(kernel, dilations)]
        pads = middle * 2 if self.chance(0.6) else [r.randint(0, 3) for _ in range(2 * rank)]
        return kernel, {"strides": strides, "dilations": dilations, "pads": pads}

    def groups(self, channels):
        if channels == 0:
            raise Unfit
        return self.random.choice([1, 1, 1, channels] + [g for g in range(1, channels + 1) if channels % g == 0])

    def conv(self):
        x = self.take(3, 4, 4, 5)
        channels, rank = self.shape(x)[1], len(self.shape(x)) - 2
        kernel, window = self.window(rank, [1, 1, 2, 3, 3, 3, 4, 5, 7])
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, window["dilations"])]
        # Strides above the kernel: ONNX Runtime makes the pads negative, Kiln (as TensorFlow) 0.
        if self.chance(0.15) and all(span >= stride for span, stride in zip(spans, window["strides"])):
            window.pop("pads")
            window["auto_pad"] = self.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        group = self.groups(channels)
        outputs = group * self.pick(1, 2, 3) if group > 1 else self.pick(*CHANNELS)
        inputs = [x, self.weights(outputs, channels // group, *kernel)]
        if self.chance(0.5):
            inputs.append(self.weights(outputs))
        return self.tail(self.add("Conv", inputs, group=group, **window))

    def conv_transpose(self):
        x = self.take(3, 4, 4, 5)
        channels, rank = self.shape(x)[1], len(self.shape(x)) - 2
        kernel, window = self.window(rank, [1, 2, 2, 3, 3, 4, 4, 5, 6, 7])
        if self.chance(0.5):
            window["dilations"] = [1] * rank
        if self.chance(0.5):
            window["output_padding"] = [self.random.randint(0, s - 1) for s in window["strides"]]
        group = self.groups(channels)
        outputs = self.pick(*CHANNELS) if group == 1 else self.pick(1, 2, 3)
        inputs = [x, self.weights(channels, outputs, *kernel)]
        if self.chance(0.5):
            inputs.append(self.weights(outputs * group))
        return self.tail(self.add("ConvTranspose", inputs, group=group, **window))

    def tail(self, y):
        """What often follows a contraction, so that it is fused more often than by chance."""
        while self.chance(0.5):
            try:
                y = self.random.choice([self.activation, self.binary, self.batch_norm])(y)
            except Unfit:
                break
        return y

    def batch_norm(self, x=None):
        x = x or self.take(3, 4)
        if len(self.shape(x)) < 3:
            raise Unfit
        channels = self.shape(x)[1]
        variance = self.constant(np.abs(self.numbers_of([channels])) + np.float32(0.5))
        return self.add("BatchNormalization", [x] + [self.constant(self.numbers_of([channels])) for _ in range(3)] + [variance])

    def activation(self, x=None):
        x = x or self.take(1, 2, 3, 4)
        op = self.random.choice(CHEAP if self.chance(0.6) else EXPENSIVE)
        if op == "Clip":
            return self.add(op, [x, self.constant(np.float32(-0.4)), self.constant(np.float32(0.7))])
        if op == "Swish":
            return self.add("Mul", [x, self.add("Sigmoid", [x])])
        return self.add(op, [x])

    def binary(self, x=None):
        x = x or self.take(1, 2, 3, 4)
        others = self.alike(x)
        if self.chance(0.5) and len(others) > 1:
            y = self.random.choice(others)
        else:
            # Dims of the run are 1 in what is added: constants do not know them.
            dims = [self.pick(1, d) if len({a.shape[i] for a in self.values[x]}) == 1 else 1 for i, d in enumerate(self.shape(x))]
            dims = dims[self.random.randint(0, len(dims)):] if self.chance(0.3) else dims
            y = self.input(dims) if self.chance(0.2) and not self.depth else self.constant(self.numbers_of(dims))
        return self.add(self.pick("Add", "Add", "Mul", "Sub", "Max", "Min"), [x, y] if self.chance(0.7) else [y, x])

    def concat(self):
        x = self.take(2, 3, 4)
        axis = self.random.choice(range(len(self.shape(x)))) if self.chance(0.4) else 1
        others = self.alike(x, axis)
        return self.add("Concat", [x] + [self.random.choice(others) for _ in range(self.pick(1, 1, 2))], axis=axis)

    def pad(self):
        x = self.take(3, 4)
        rank = len(self.shape(x))
        mode = self.pick("constant", "reflect", "edge")
        pads = [self.pick(0, 1, 2) if i % rank >= 2 else 0 for i in range(2 * rank)]
        return self.add("Pad", [x, self.constant(np.array(pads, np.int64))], mode=mode)

    def resize(self):
        x = self.take(4)
        scales = np.array([1, 1, self.pick(0.5, 1, 2), self.pick(0.5, 2, 3)], np.float32)
        return self.add("Resize", [x, "", self.constant(scales)], mode=self.pick("nearest", "linear"), nearest_mode="floor",
                        coordinate_transformation_mode=self.pick("half_pixel", "asymmetric"))

    def pool(self):
        x = self.take(3, 4)
        rank = len(self.shape(x)) - 2
        if self.chance(0.2):
            return self.add("GlobalAveragePool", [x])
        kernel, pads = [self.pick(2, 3) for _ in range(rank)], [self.pick(0, 1) for _ in range(2 * rank)]
        # ONNX Runtime takes a window that does not fit, rounding towards zero; Kiln does not.
        if any(a.shape[2 + d] + pads[d] + pads[d + rank] < kernel[d] for a in self.values[x] for d in range(rank)):
            raise Unfit
        return self.add(self.pick("MaxPool", "AveragePool"), [x], kernel_shape=kernel,
                        strides=[self.pick(1, 2, 3) for _ in range(rank)], pads=pads)

    def matmul(self):
        x = self.take(1, 2, 3, 4)
        depth, columns = self.shape(x)[-1], self.pick(*CHANNELS)
        if len({a.shape[-1] for a in self.values[x]}) > 1:
            # Against itself, the other way round: a depth that the run knows.
            order = list(range(len(self.shape(x))))
            order[-2:] = order[:-3:-1]
            return self.tail(self.add("MatMul", [x, self.add("Transpose", [x], perm=order)]))
        lead = self.pick([], [], [], [1], [2])
        if self.chance(0.3) and not self.depth:
            y = self.input(lead + [depth, columns])
        elif self.chance(0.3):
            y = self.add("Transpose", [self.weights(columns, depth)], perm=[1, 0])
        else:
            y = self.weights(*lead, depth, columns) if self.chance(0.9) else self.weights(depth)
        return self.tail(self.add("MatMul", [x, y]))

    def gemm(self):
        x = self.take(2)
        turned = self.pick(0, 0, 1)
        depths = {a.shape[0 if turned else 1] for a in self.values[x]}
        if len(depths) > 1:
            raise Unfit
        depth, columns, turned_b = depths.pop(), self.pick(*CHANNELS), self.pick(0, 1)
        b = self.weights(*([columns, depth] if turned_b else [depth, columns]))
        c = self.weights(*self.pick([columns], [1, columns], [1], [1, 1]))
        return self.tail(self.add("Gemm", [x, b, c], transA=turned, transB=turned_b, alpha=self.pick(1.0, 0.5), beta=self.pick(1.0, 2.0)))

    def reduce(self):
        x = self.take(2, 3, 4)
        axes = self.random.sample(range(len(self.shape(x))), self.random.randint(1, len(self.shape(x))))
        op = self.pick("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp")
        return self.add(op, [x, self.constant(np.array(axes, np.int64))], keepdims=self.pick(0, 1, 1))

    def softmax(self):
        x = self.take(2, 3, 4)
        return self.add(self.pick("Softmax", "Softmax", "LogSoftmax"), [x], axis=self.random.randint(-2, -1))

    def layer_norm(self):
        x = self.take(2, 3, 4)
        if len({a.shape[-1] for a in self.values[x]}) > 1:
            raise Unfit
        width = self.shape(x)[-1]
        return self.add("LayerNormalization", [x, self.constant(self.numbers_of([width])), self.constant(self.numbers_of([width]))])

    def gather(self):
        x = self.take(2, 3, 4)
        axis = self.random.randrange(len(self.shape(x)))
        least = min(a.shape[axis] for a in self.values[x])
        count = self.pick(1, 3, 8)

        def make(_):
            return self.numbers.randint(-least, least, [count]).astype(np.int64)
        indices = self.constant(make(None)) if self.chance(0.5) or self.depth else self.input([count], make)
        return self.add("Gather", [x, indices], axis=axis)

    def transpose(self):
        x = self.take(2, 3, 4)
        order = list(range(len(self.shape(x))))
        self.random.shuffle(order)
        return self.add("Transpose", [x], perm=order)

    def slice(self):
        x = self.take(2, 3, 4)
        axis = self.random.randrange(len(self.shape(x)))
        parts = [self.pick(0, 1, 2, -3), self.pick(1000, -1, 4), axis, self.pick(1, 1, 2)]
        return self.add("Slice", [x] + [self.constant(np.array([p], np.int64)) for p in parts])

    def flatten(self):
        return self.add("Flatten", [self.take(3, 4)], axis=self.pick(1, 1, 2))

    # Control flow -----------------------------------------------------------

    def body(self, make):
        """A subgraph's nodes and constants, and the names and values of its results, which `make` adds."""
        outer = self.nodes, self.constants, set(self.values)
        self.nodes, self.constants = [], list(self.constants)
        known = {c.name for c in self.constants}
        self.depth += 1
        try:
            # Each result is a node's, and none is given twice.
            results = [self.add("Identity", [result]) for result in make()]
            nodes, constants = self.nodes, [c for c in self.constants if c.name not in known]
            return nodes, constants, [(result, self.values[result]) for result in results]
        finally:
            self.depth -= 1
            self.nodes, self.constants = outer[:2]
            for name in set(self.values) - outer[2]:
                del self.values[name]

    def chain(self, x):
        """A few ops on `x` that keep its shape."""
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.15 and self.depth < 2:
                x = self.random.choice([self.branch, self.loop])(x)
            elif kind < 0.5:
                x = self.activation(x)
            elif kind < 0.8 or len(self.shape(x)) != 4:
                x = self.binary(x) if not self.chance(0.2) else self.add("Softmax", [x], axis=-1)
            else:
                channels = self.shape(x)[1]
                x = self.add("Conv", [x, self.weights(channels, channels, 3, 3)], pads=[1] * 4)
        return x

    def decision(self, make):
        """A value that the run decides: an input, or within a subgraph a constant or one that is there."""
        if not self.depth:
            return self.input([], lambda _: make())
        made = make()
        found = [v for v, a in self.values.items() if a[0].dtype == made.dtype and a[0].shape == ()]
        return self.random.choice(found) if found and self.chance(0.7) else self.constant(made)

    def require_shape(self, values, name):
        if [v.shape for v in values] != [v.shape for v in self.values[name]]:
            raise Unfit

    def branch(self, x=None):
        x = x or self.take(2, 3, 4)
        graphs = []
        for _ in range(2):
            nodes, constants, (result,) = self.body(lambda: [self.chain(x)])
            self.require_shape(result[1], x)
            graphs.append(helper.make_graph(nodes, "branch", [], [value_info(result[0], result[1][0])], constants))
        condition = self.decision(lambda: np.array(self.chance(0.5)))
        return self.add("If", [condition], then_branch=graphs[0], else_branch=graphs[1])

    def loop(self, x=None):
        """Carries `x` through a chain; a second value is handed round with it, or grows."""
        x = x or self.take(2, 3, 4)
        others = [v for v in self.alike(x) if v not in {c.name for c in self.constants}]
        second, kind = self.random.choice(others), self.pick("none", "swap", "grow", "keep")
        scans, ends = self.chance(0.3), self.chance(0.3)
        carried, other, at, alive = self.name(), self.name(), self.name(), self.name()
        inside = {carried: self.values[x], other: self.values[second], at: [np.array(0)] * len(SIZES)}
        self.values.update(inside)

        def make():
            # Squashed, so that iterations do not grow.
            results = [self.add("Tanh", [self.chain(carried)])]
            if kind == "swap":
                results = [self.add("Tanh", [self.chain(other)]), self.add("Identity", [carried])]
            elif kind == "grow":
                results.append(self.add("Concat", [other, results[0]], axis=0))
            elif kind == "keep":
                results.append(self.add("Identity", [other]))
            going = [self.add("Less", [at, self.constant(np.array(self.pick(0, 1), np.int64))])] if ends else []
            return results + going + ([self.add("Abs", [results[0]])] if scans else [])
        try:
            nodes, constants, results = self.body(make)
        finally:
            for name in inside:
                del self.values[name]
        self.require_shape(results[0][1], x)
        states = 1 if kind == "none" else 2
        if ends:
            truth = results.pop(states)[0]
        else:
            truth = self.name()
            nodes = nodes + [helper.make_node("Identity", [alive], [truth])]
        inputs = [value_info(at, np.array(0)), value_info(alive, np.array(True)), value_info(carried, self.values[x][0])]
        if states == 2:
            inputs.append(value_info(other, self.values[second][0]))
        outputs = [value_info(truth, np.array(True))] + [value_info(name, values[0]) for name, values in results]
        graph = helper.make_graph(nodes, "body", inputs, outputs, constants)
        # The sizes of an empty stack are anyone's choice.
        trips = self.decision(lambda: np.array(self.random.randint(0, 3), np.int64))
        if scans and min(values.min() for values in self.values[trips]) < 1:
            raise Unfit
        return self.add("Loop", [trips, "", x, second][:2 + states], states + scans, body=graph)


def generate(seed):
    """A model, and for each size its inputs and what ONNX Runtime makes of them."""
    g = Graph(seed)
    symbolic = g.chance(0.6)
    rank = g.pick(2, 3, 4, 4, 4, 4, 5)
    spatial = ["h", "w", g.pick(3, 5)][:rank - 2] if rank > 3 or g.chance(0.5) else ["w"]
    dims = ["n", g.pick(*CHANNELS)] + spatial[:max(0, rank - 2)]
    if not symbolic:
        size = g.random.choice(SIZES)
        dims = [size.get(d, d) for d in dims]
    elif g.chance(0.5):
        kept = g.pick("n", "h", "w")
        dims = [d if d == kept or isinstance(d, int) else SIZES[0][d] for d in dims]
    for _ in range(g.pick(1, 1, 2)):
        g.input(dims)
    wanted, tries = g.random.randint(1, 9), 0
    while len(g.nodes) < wanted and tries < 60:
        tries += 1
        state = len(g.nodes), len(g.constants), list(g.values), dict(g.inputs)
        try:
            g.step()
        except Unfit:
            del g.nodes[state[0]:], g.constants[state[1]:]
            g.values = {v: g.values[v] for v in state[2]}
            g.inputs = state[3]
    read = {i for n in g.nodes for i in g.reads(n)}
    made = [o for n in g.nodes for o in n.output]
    outputs = [o for o in made if o not in read or g.chance(0.1)]
    inputs = [i for i in g.inputs if i in read]
    graph = helper.make_graph(
        g.nodes, f"seed{seed}", [value_info(i, g.values[i][0], g.inputs[i]) for i in inputs],
        [value_info(o, g.values[o][0]) for o in outputs], [c for c in g.constants if c.name in read])
    runs = [({i: g.values[i][s] for i in inputs}, {o: g.values[o][s] for o in outputs}) for s in range(len(SIZES))]
    return (make_model(graph), runs) if g.nodes else None
