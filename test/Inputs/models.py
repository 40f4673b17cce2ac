#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a small model of the tests: models.py NAME FILE.

It writes protobuf's bytes itself: that takes milliseconds, needs no package, and can do what the onnx package refuses.
"""
import struct
import sys

FLOAT, UINT8, INT64, STRING, BOOL, DOUBLE, UINT4, INT4 = 1, 2, 7, 8, 9, 11, 21, 22
FORMAT = {FLOAT: "f", UINT8: "B", INT64: "q"}


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """An int, a text, bytes (a message is bytes), or a list of them."""
    if isinstance(value, (list, tuple)):
        return b"".join(field(number, one) for one in value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, bytes):  # a graph
        return field(1, name) + field(6, value) + field(20, 5)
    return field(1, name) + field(8, list(value)) + field(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (
        field(1, list(inputs))
        + field(2, list(outputs))
        + field(3, name or "the_" + op)
        + field(4, op)
        + field(5, [attribute(*item) for item in attributes.items()])
        + (field(7, domain) if domain else b"")
    )


def value(name, type_, dims):
    shape = b"".join(field(1, field(1 if isinstance(d, int) else 2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, type_) + field(2, shape)))


def tensor(name, type_, dims, elements):
    raw = struct.pack(f"<{len(elements)}{FORMAT[type_]}", *elements)
    return field(1, list(dims)) + field(2, type_) + field(8, name) + field(9, raw)


def graph(nodes, inputs, outputs):
    """Of a node; inputs and outputs are names."""
    untyped = lambda names: [field(1, name) for name in names]  # noqa: E731
    return field(1, nodes) + field(2, "inner") + field(11, untyped(inputs)) + field(12, untyped(outputs))


def branches(then, otherwise, output, rest=(), inputs=(), constants=()):
    """y = c ? then : otherwise, both made from x[2, n]; then the rest."""
    choice = node("If", "c", "y", then_branch=graph([then], [], ["t"]), else_branch=graph([otherwise], [], ["e"]))
    one = tensor("one", INT64, [1], [1])
    return model([choice, *rest], [value("c", BOOL, []), value("x", FLOAT, [2, "n"]), *inputs], [output], [one, *constants])


def loop(body):
    """Three iterations over s, at first x; the body makes t."""
    inner = graph([node("Identity", ["go"], ["on"]), body], ["i", "go", "s"], ["on", "t"])
    constants = [tensor("trips", INT64, [], [3]), tensor("zero", INT64, [1], [0])]
    return model([node("Loop", ["trips", "", "x"], "y", body=inner)], [X], [field(1, "y")], constants)


def attention(size):
    """Softmax of scaled, masked scores, with heads as exporters split them."""
    queries, keys = [2, "n", 4, size], [2, "m", 4, size]
    nodes = [
        node("Transpose", ["q"], ["a"], perm=[0, 2, 1, 3]),
        node("Transpose", ["k"], ["b"], perm=[0, 2, 3, 1]),
        node("Transpose", ["v"], ["c"], perm=[0, 2, 1, 3]),
        node("MatMul", ["a", "b"], ["scores"]),
        node("Mul", ["scores", "scale"], ["scaled"]),
        node("Add", ["scaled", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "c"], ["mixed"]),
        node("Transpose", ["mixed"], ["y"], perm=[0, 2, 1, 3]),
    ]
    inputs = [value("q", FLOAT, queries), value("k", FLOAT, keys), value("v", FLOAT, keys), value("mask", FLOAT, [2, 1, 1, "m"])]
    return model(nodes, inputs, [value("y", FLOAT, queries)], [tensor("scale", FLOAT, [], [size**-0.5])])


def model(nodes, inputs, outputs, initializers=(), opset=21, ir=10, domains=()):
    graph = field(1, nodes) + field(2, "g") + field(5, list(initializers))
    graph += field(11, inputs) + field(12, outputs)
    opsets = [field(2, opset)] + [field(1, d) + field(2, 1) for d in domains]
    return field(1, ir) + field(2, "test") + field(7, graph) + field(8, opsets)


X, Y = value("x", FLOAT, [2, 3]), value("y", FLOAT, [2, 3])
XN, YN = value("x", FLOAT, ["n", 3]), value("y", FLOAT, ["n", 3])
RELU = model([node("Relu", "x", "y")], [X], [Y])

IDENTITY, SQUEEZE = node("Identity", "x", "e"), node("Squeeze", ["x", "one"], ["t"])
UNTYPED = field(1, "y")

MODELS = {
    "relu": RELU,
    # Branches of two element types, of two ranks, and of two ranks one of which the rest does not take.
    "if-types": branches(node("Cast", "x", "t", to=DOUBLE), IDENTITY, UNTYPED),
    "if-ranks": branches(SQUEEZE, IDENTITY, UNTYPED),
    "if-ranks-gemm": branches(
        SQUEEZE, IDENTITY, value("z", FLOAT, [2, 2]), [node("Gemm", "yw", "z")], [value("w", FLOAT, ["n", 2])]
    ),
    "if-ranks-sum": branches(SQUEEZE, IDENTITY, value("z", FLOAT, []), [node("ReduceSum", "y", "z", keepdims=0)]),
    "if-ranks-lacking": branches(
        SQUEEZE, IDENTITY, field(1, "z"),
        [node("Loop", ["one", "", "y"], "z", body=graph(
            [node("Identity", ["go"], ["on"]), node("Unsqueeze", ["s", "zero"], ["t2"])], ["i", "go", "s"], ["on", "t2"]))],
        constants=[tensor("zero", INT64, [1], [0])],
    ),  # fmt: skip
    # What a loop carries must keep its type and rank.
    "loop-type": loop(node("Cast", "s", "t", to=DOUBLE)),
    "loop-rank": loop(node("Unsqueeze", ["s", "zero"], "t")),
    # y = relu(x * w + b), any number of rows.
    "affine": model(
        [
            node("Mul", ["x", "w"], ["scaled"]),
            node("Add", ["scaled", "b"], ["shifted"]),
            node("Relu", ["shifted"], ["y"]),
        ],
        [XN],
        [YN],
        [tensor("w", FLOAT, [3], [1, 2, 3]), tensor("b", FLOAT, [3], [0.5, -0.5, 0])],
    ),
    # y = relu(x w + b), x [n, 12], w [12, 20].
    "dense": model(
        [node("MatMul", ["x", "w"], "p"), node("Add", ["p", "b"], "q"), node("Relu", "q", "y")],
        [value("x", FLOAT, ["n", 12])],
        [value("y", FLOAT, ["n", 20])],
        [
            tensor("w", FLOAT, [12, 20], [(i * 7 % 11 - 5) / 8 for i in range(240)]),
            tensor("b", FLOAT, [20], [i / 16 - 0.5 for i in range(20)]),
        ],
    ),
    "sum": model([node("Add", ["x", "z"], ["y"])], [XN, value("z", FLOAT, ["n", 3])], [YN]),
    # Two inputs whose first dims need not be the same.
    "broadcast": model(
        [node("Add", ["x", "z"], ["y"])],
        [XN, value("z", FLOAT, ["m", 3])],
        [value("y", FLOAT, ["k", 3])],
    ),
    # 2 * w is known at compile time.
    "foldable": model(
        [node("Add", ["w", "w"], ["twice"]), node("Mul", ["x", "twice"], ["y"])],
        [XN],
        [YN],
        [tensor("w", FLOAT, [3], [1, 2, 3])],
    ),
    # Two equal kernels and a transposition.
    "twice": model(
        [
            node("Relu", ["x"], ["a"], name="first"),
            node("Transpose", ["a"], ["t"], perm=[1, 0]),
            node("Relu", ["t"], ["b"], name="second"),
            node("Transpose", ["b"], ["y"], perm=[1, 0]),
        ],
        [XN],
        [YN],
    ),
    # What is done to a row does not depend on the others; t has its rows as columns, w has none.
    "rows": model(
        [
            node("Mul", ["x", "w"], ["scaled"]),
            node("Softmax", ["scaled"], ["weights"]),
            node("LayerNormalization", ["x", "w"], ["normal"]),
            node("Add", ["weights", "normal"], ["sum"]),
            node("Tanh", ["sum"], ["y"]),
            node("Transpose", ["sum"], ["t"], perm=[1, 0]),
            node("Neg", ["w"], ["v"]),
        ],
        [XN, value("w", FLOAT, [3])],
        [YN, value("t", FLOAT, [3, "n"]), value("v", FLOAT, [3])],
    ),
    # Each row needs all.
    "centred": model(
        [
            node("ReduceMean", ["x", "axes"], ["mean"], name="centre"),
            node("Sub", ["x", "mean"], ["y"]),
        ],
        [XN],
        [YN],
        [tensor("axes", INT64, [1], [0])],
    ),
    # The same node twice; both results are outputs.
    "chain": model(
        [
            node("Relu", ["x"], ["y"], name="first"),
            node("Relu", ["z"], ["w"], name="second"),
        ],
        [XN, value("z", FLOAT, ["m", 4])],
        [YN, value("w", FLOAT, ["m", 4])],
    ),
    # The shape is computed: [n, 3] -> [3 * n].
    "flatten": model(
        [node("Reshape", ["x", "shape"], ["y"])],
        [XN],
        [value("y", FLOAT, ["m"])],
        [tensor("shape", INT64, [1], [-1])],
    ),
    # Sizes that only the run knows: as many columns as x and z have elements other than 0.
    "nibbles": model(
        [
            node("Mul", ["x", "five"], ["scaled"]),
            node("Clip", ["scaled", "least", "most"], ["clipped"]),
            node("Cast", ["clipped"], ["signed"], to=INT4),
            node("Cast", ["signed"], ["a"], to=FLOAT),
            node("Abs", ["scaled"], ["size"]),
            node("Clip", ["size", "least", "most"], ["positive"]),
            node("Cast", ["positive"], ["unsigned"], to=UINT4),
            node("Cast", ["unsigned"], ["b"], to=FLOAT),
            node("Add", ["a", "b"], ["y"]),
        ],
        [XN],
        [YN],
        [tensor("five", FLOAT, [], [5]), tensor("least", FLOAT, [], [-8]), tensor("most", FLOAT, [], [7])],
    ),
    "late": model(
        [
            node("NonZero", ["x"], ["a"]),
            node("NonZero", ["z"], ["b"]),
            node("Add", ["a", "b"], ["y"]),
        ],
        [value("x", FLOAT, ["n"]), value("z", FLOAT, ["m"])],
        [value("y", INT64, [1, "k"])],
    ),
    # What a contraction adds to its sums has dims of its own.
    "residual": model(
        [node("MatMul", ["x", "w"], ["a"]), node("Add", ["r", "a"], ["y"])],
        [value("x", FLOAT, ["b", "s", 4]), value("r", FLOAT, ["b", "s", 4])],
        [value("y", FLOAT, ["b", "s", 4])],
        [tensor("w", FLOAT, [4, 4], [float(i) for i in range(16)])],
    ),
    # Windows over planes: a convolution of single channels, pools.
    "windows": model(
        [
            node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], group=6),
            node("Relu", ["c"], ["r"]),
            node("MaxPool", ["r"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("AveragePool", ["r"], ["z"], kernel_shape=[2, 3], pads=[0, 1, 1, 1], count_include_pad=1),
        ],
        [value("x", FLOAT, ["n", 6, 33, 37])],
        [value("y", FLOAT, ["n", 6, 9, 10]), value("z", FLOAT, ["n", 6, 17, 19])],
        [
            tensor("w", FLOAT, [6, 1, 3, 3], [(i * 5 % 13 - 6) / 8 for i in range(54)]),
            tensor("b", FLOAT, [6], [i / 8 - 0.25 for i in range(6)]),
        ],
    ),
    # Along an axis that others follow, and along the last one.
    "axes": model(
        [
            node("Softmax", ["x"], ["softmax"], axis=1),
            node("ReduceSum", ["x", "one"], ["sum"], keepdims=0),
            node("ArgMax", ["x"], ["first"], axis=1, keepdims=0),
            node("ArgMin", ["x"], ["least"], axis=2, select_last_index=1),
        ],
        [value("x", FLOAT, [5, 70, 45])],
        [
            value("softmax", FLOAT, [5, 70, 45]),
            value("sum", FLOAT, [5, 45]),
            value("first", INT64, [5, 45]),
            value("least", INT64, [5, 70, 1]),
        ],
        [tensor("one", INT64, [1], [1])],
    ),
    # Axes that change places, with something behind; large enough that it matters how.
    "permuted": model(
        [
            node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
            node("Mul", ["t", "w"], ["y"]),
            node("Transpose", ["i"], ["j"], perm=[1, 0]),
        ],
        [value("x", FLOAT, [2, 70, 90, 96]), value("i", UINT8, [1500, 1000])],
        [value("y", FLOAT, [2, 96, 70, 90]), value("j", UINT8, [1000, 1500])],
        [tensor("w", FLOAT, [96, 1, 1], [i / 64 - 0.5 for i in range(96)])],
    ),
    # Functions of elements, operands of all, one row, one column and one element.
    "elements": model(
        [
            node("Mul", ["x", "row"], ["a"]),
            node("Add", ["a", "column"], ["b"]),
            node("Sub", ["b", "z"], ["c"]),
            node("Mul", ["c", "one"], ["y"]),
            node("Less", ["x", "z"], ["less"]),
            node("QuantizeLinear", ["z", "scale", "zero"], ["bytes"]),
        ],
        [value("x", FLOAT, [1200, 1536]), value("z", FLOAT, [1200, 1536]), value("column", FLOAT, [1200, 1])],
        [
            value("y", FLOAT, [1200, 1536]),
            value("less", BOOL, [1200, 1536]),
            value("bytes", UINT8, [1200, 1536]),
        ],
        [
            tensor("row", FLOAT, [1536], [i % 17 / 8 - 1 for i in range(1536)]),
            tensor("one", FLOAT, [1], [0.75]),
            tensor("scale", FLOAT, [], [1 / 64]),
            tensor("zero", UINT8, [], [128]),
        ],
    ),
    # Kernels that should move each byte once.
    "streams": model(
        [
            node("Add", ["x", "z"], ["sum"]),
            node("Softmax", ["x"], ["softmax"], axis=1),
            node("LayerNormalization", ["z", "one"], ["normal"], axis=1),
        ],
        [value("x", FLOAT, [300, 1024]), value("z", FLOAT, [300, 1024])],
        [value(name, FLOAT, [300, 1024]) for name in ("sum", "softmax", "normal")],
        [tensor("one", FLOAT, [1], [1])],
    ),
    "residual-conv": model(
        [node("Conv", ["x", "w"], ["a"]), node("Add", ["r", "a"], ["y"])],
        [value("x", FLOAT, ["b", 2, "h", "s"]), value("r", FLOAT, ["b", 2, "h", "s"])],
        [value("y", FLOAT, ["b", 2, "h", "s"])],
        [tensor("w", FLOAT, [2, 2, 1, 1], [1.0, 2.0, 3.0, 4.0])],
    ),
    # A kernel with scratch of a size that only the run knows: the places, last first.
    "late-scratch": model(
        [
            node("NonZero", ["x"], ["a"]),
            node("Shape", ["a"], ["s"]),
            node("Slice", ["s", "one", "two"], ["k"]),
            node("TopK", ["a", "k"], ["y", "i"]),
        ],
        [value("x", FLOAT, ["n"])],
        [value("y", INT64, [1, "k"])],
        [tensor("one", INT64, [1], [1]), tensor("two", INT64, [1], [2])],
    ),
    # Products and convolutions of operands that other ops move or make: heads split from rows and merged again,
    # batches that broadcast, a left side in columns, a slice in front of a convolution, a sum in front of a product.
    "operands": model(
        [
            node("Transpose", ["x"], ["heads"], perm=[0, 2, 1, 3]),
            node("Transpose", ["x"], ["columns"], perm=[0, 2, 3, 1]),
            node("MatMul", ["heads", "columns"], ["scores"], name="of_heads"),
            node("MatMul", ["scores", "heads"], ["mixed"], name="of_values"),
            node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
            node("Reshape", ["back", "merged"], ["rows"]),
            node("MatMul", ["rows", "w"], ["y"], name="of_merged"),
            node("MatMul", ["b", "c"], ["z"], name="of_broadcast"),
            node("Gemm", ["g", "h", "i"], ["u"], name="of_columns", transA=1, alpha=0.5),
            node("Slice", ["e", "from", "to", "axis"], ["part"]),
            node("Conv", ["part", "k"], ["v"], name="of_slice", pads=[1, 1]),
            node("Add", ["g", "j"], ["shifted"]),
            node("MatMul", ["shifted", "l"], ["t"], name="of_sum"),
        ],
        [value("x", FLOAT, [2, 20, 3, 16]), value("b", FLOAT, [2, 1, 9, 20]), value("c", FLOAT, [3, 20, 12]),
         value("e", FLOAT, [2, 3, 300]), value("g", FLOAT, [24, 36]), value("h", FLOAT, [24, 20]), value("j", FLOAT, [36])],
        [value("y", FLOAT, [2, 20, 10]), value("z", FLOAT, [2, 3, 9, 12]), value("u", FLOAT, [36, 20]),
         value("v", FLOAT, [2, 5, 288]), value("t", FLOAT, [24, 8])],
        [
            tensor("merged", INT64, [3], [2, 20, 48]),
            tensor("from", INT64, [1], [5]), tensor("to", INT64, [1], [293]), tensor("axis", INT64, [1], [2]),
            tensor("w", FLOAT, [48, 10], [(i * 7 % 13 - 6) / 16 for i in range(480)]),
            tensor("i", FLOAT, [20], [i / 8 for i in range(20)]),
            tensor("k", FLOAT, [5, 3, 3], [(i * 5 % 11 - 5) / 8 for i in range(45)]),
            tensor("l", FLOAT, [36, 8], [(i * 3 % 7 - 3) / 8 for i in range(288)]),
        ],
    ),  # fmt: skip
    # Heads of a usual size, and of one that no template takes.
    "attention": attention(32),
    "attention-wide": attention(512),
    # A norm whose rows only a product reads: one kernel where rows are many.
    "norm-linear": model(
        [
            node("LayerNormalization", ["x", "s", "o"], ["n"]),
            node("MatMul", ["n", "w"], ["p"]),
            node("Add", ["p", "b"], ["q"]),
            node("Gelu", ["q"], ["y"]),
        ],
        [value("x", FLOAT, [2, 128, 48])],
        [value("y", FLOAT, [2, 128, 40])],
        [
            tensor("s", FLOAT, [48], [1 + i / 48 for i in range(48)]),
            tensor("o", FLOAT, [48], [i / 96 - 0.25 for i in range(48)]),
            tensor("w", FLOAT, [48, 40], [(i * 37 % 101 - 50) / 200 for i in range(48 * 40)]),
            tensor("b", FLOAT, [40], [i / 40 - 0.5 for i in range(40)]),
        ],
    ),
    # What is computed in 16 bits on request: a product between a norm and its activation, and a convolution.
    "layers": model(
        [
            node("LayerNormalization", ["x", "s"], ["n"]),
            node("MatMul", ["n", "w"], ["p"]),
            node("Add", ["p", "b"], ["q"]),
            node("Gelu", ["q"], ["r"]),
            node("MatMul", ["r", "u"], ["t"]),
            node("Add", ["t", "x"], ["y"]),
            node("Conv", ["i", "k"], ["c"], pads=[1, 1, 1, 1]),
            node("Relu", ["c"], ["z"]),
        ],
        [value("x", FLOAT, [64, 96]), value("i", FLOAT, [1, 24, 20, 20])],
        [value("y", FLOAT, [64, 96]), value("z", FLOAT, [1, 40, 20, 20])],
        [
            tensor("s", FLOAT, [96], [1 + i / 96 for i in range(96)]),
            tensor("w", FLOAT, [96, 128], [(i * 37 % 101 - 50) / 400 for i in range(96 * 128)]),
            tensor("b", FLOAT, [128], [i / 128 - 0.5 for i in range(128)]),
            tensor("u", FLOAT, [128, 96], [(i * 31 % 97 - 48) / 400 for i in range(96 * 128)]),
            tensor("k", FLOAT, [40, 24, 3, 3], [(i * 29 % 89 - 44) / 400 for i in range(40 * 216)]),
        ],
    ),  # fmt: skip
    # A weight of 1 MiB.
    "large": model(
        [node("Add", ["x", "w"], ["y"])],
        [value("x", FLOAT, [512, 512])],
        [value("y", FLOAT, [512, 512])],
        [tensor("w", FLOAT, [512, 512], [i % 251 for i in range(512 * 512)])],
    ),
    "unnamed": model(
        [node("Relu", "x", "y")], [value("x", FLOAT, ["", 3])], [value("y", FLOAT, ["", 3])]
    ),
    # Invalid and refused ones.
    "unknown-op": model([node("Relux", "x", "y")], [X], [Y]),
    "unknown-ops": model(
        [node("Relux", "x", "a"), node("Foo", "a", "b"), node("Relux", "b", "y", name="again")],
        [X],
        [Y],
    ),
    "unknown-domain": model(
        [node("Relu", "x", "y", domain="com.example")], [X], [Y], domains=["com.example"]
    ),
    "new-opset": model([node("Relu", "x", "y")], [X], [Y], opset=99),
    "old-opset": model([node("Relu", "x", "y")], [X], [Y], opset=6),
    "undefined": model([node("Relu", ["ghost"], ["y"])], [X], [Y]),
    "cycle": model([node("Add", ["x", "b"], ["a"]), node("Relu", "a", "b")], [X], [value("b", FLOAT, [2, 3])]),
    "short-weight": model(
        [node("Mul", ["x", "w"], ["y"])], [X], [Y], [tensor("w", FLOAT, [3], [1, 2])]
    ),
    "string-input": model([node("Identity", "x", "y")], [value("x", STRING, [2])], [value("y", STRING, [2])]),
    "empty": b"",
    "garbage": bytes(range(256)) * 4,
    "text": b"This is not a model.\n",
    "truncated": RELU[: len(RELU) // 2],
}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(MODELS[sys.argv[1]])
