# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: values that only the run knows and that fit no shape. Each gets an error that names the node."""
import struct

import numpy as np
from harness import *  # noqa: F403
from numerics import f32, i64

INT64_MIN = -(2**63)


def faulty(check, nodes, inputs, outputs, good, bad, constants=None, opset=18):
    """Runs what is good, and expects an error that has the words for each (feeds, words) of `bad`."""
    artefact = check.compile(model(nodes, inputs, outputs, constants, opset=opset))
    for feeds in good:
        artefact.run(feeds)
    for feeds, *words in bad:
        artefact.expect_error(feeds, *words)
    return artefact


@case("RT001-index-out-of-range")
def index_out_of_range(check):
    """Indices are checked before anything is read or written with them."""
    x = f32(np.arange(12)).reshape(4, 3)
    bad = [[4], [-5], [0, 3, 4], [INT64_MIN], [INT64_MAX], [0] * 100 + [-5] + [3] * 30]
    artefact = faulty(
        check,
        [node("Gather", "x i", "y", name="taker")],
        "x:f32[N,3] i:i64[M]",
        "y:f32[M,3]",
        [],
        [({"x": x, "i": i64(i)}, "taker", "Gather", "got") for i in bad],
    )
    artefact.expect({"x": x, "i": i64([0, -4, 3])}, {"y": x[[0, -4, 3]]})
    # An empty axis has no places, and needs none for no indices.
    artefact.expect({"x": x[:0], "i": i64([])}, {"y": x[:0]})
    artefact.expect_error({"x": x[:0], "i": i64([0])}, "taker", "empty dimension")
    artefact.expect_error({"x": x[:0], "i": i64([-1])}, "taker", "empty dimension")
    scalar = faulty(check, [node("Gather", "x i", "y", name="t")], "x:f32[4,3] i:i32[]", "y:f32[3]", [], [
        ({"x": x, "i": np.array(4, np.int32)}, "'t'", "got 4 and 3"),
        ({"x": x, "i": np.array(-5, np.int32)}, "'t'", "got -4 and -5"),
    ])  # fmt: skip
    scalar.expect({"x": x, "i": np.array(-1, np.int32)}, {"y": x[3]})


@case("RT002-index-kin")
def index_kin(check):
    """What Gather has, all that index have."""
    x = f32(np.arange(12)).reshape(4, 3)
    faulty(
        check,
        [node("GatherElements", "x i", "y", name="taker", axis=1)],
        "x:f32[N,K] i:i64[N,M]",
        "y:f32[N,M]",
        [{"x": x, "i": i64([[0, -3], [2, 2], [1, 1], [0, 0]])}],
        [({"x": x, "i": i64([[0, -3], [2, 2], [1, 1], [0, at]])}, "taker", "got") for at in (3, -4)],
    )
    faulty(
        check,
        [node("GatherND", "x i", "y", name="taker")],
        "x:f32[N,3] i:i64[M,2]",
        "y:f32[M]",
        [{"x": x, "i": i64([[0, -3], [-4, 2]])}],
        [({"x": x, "i": i64([[0, -3], at])}, "taker", "got") for at in ([4, 0], [-5, 0], [0, 3], [0, -4])],
    )
    u = f32([[10, 20, 30]])
    faulty(
        check,
        [node("ScatterElements", "x i u", "y", name="putter", axis=0)],
        "x:f32[N,3] i:i64[M,3] u:f32[M,3]",
        "y:f32[N,3]",
        [{"x": x, "i": i64([[0, -4, 3]]), "u": u}],
        [({"x": x, "i": i64([[0, at, 3]]), "u": u}, "putter", "got") for at in (4, -5)],
    )
    faulty(
        check,
        [node("ScatterND", "x i u", "y", name="putter")],
        "x:f32[N,3] i:i64[M,1] u:f32[M,3]",
        "y:f32[N,3]",
        [{"x": x, "i": i64([[-4]]), "u": u}],
        [({"x": x, "i": i64([[at]]), "u": u}, "putter", "got") for at in (4, -5)],
    )
    faulty(
        check,
        [node("TensorScatter", "c u w", "y", name="putter", axis=1)],
        "c:f32[1,4,2] u:f32[1,2,2] w:i64[1]",
        "y:f32[1,4,2]",
        [{"c": f32(np.zeros((1, 4, 2))), "u": f32(np.ones((1, 2, 2))), "w": i64([2])}],
        [({"c": f32(np.zeros((1, 4, 2))), "u": f32(np.ones((1, 2, 2))), "w": i64([w])}, "putter") for w in (3, -1)],
        opset=24,
    )
    faulty(
        check,
        [node("ReverseSequence", "x n", "y", name="turner", time_axis=0, batch_axis=1)],
        "x:f32[T,3] n:i64[3]",
        "y:f32[T,3]",
        [{"x": x, "n": i64([4, 0, 1])}],
        [({"x": x, "n": i64([1, 2, n])}, "turner", "got") for n in (5, -1)],
    )
    faulty(
        check,
        [node("MaxUnpool", "x i", "y", name="putter", kernel_shape=[2], strides=[2])],
        "x:f32[1,1,2] i:i64[1,1,2]",
        "y:f32[1,1,4]",
        [{"x": f32([[[1, 2]]]), "i": i64([[[1, 3]]])}],
        [({"x": f32([[[1, 2]]]), "i": i64([[[1, at]]])}, "putter", "got") for at in (4, -1)],
    )


@case("RT003-constant-indices")
def constant_indices(check):
    """Indices that are known meet an axis that is not: the run compares; where both are known, kilnc says so."""
    x = f32(np.arange(12)).reshape(4, 3)
    faulty(
        check,
        [node("Gather", "x i", "y", name="taker")],
        "x:f32[N,3]",
        "y:f32[2,3]",
        [{"x": x}],
        [({"x": x[:3]}, "taker", "got 3 and 2"), ({"x": x[:1]}, "taker", "got")],
        {"i": i64([3, -2])},
    )
    for at in (4, -5):
        m = model([node("Gather", "x i", "y", name="taker")], "x:f32[4,3]", "y:f32[1,3]", {"i": i64([at])})
        check.error(m, "taker", str(at))


@case("RT004-slice-of-the-run")
def slice_of_the_run(check):
    """A step of 0 and axes that are not there, or there twice."""
    x = f32(np.arange(12)).reshape(4, 3)
    feeds = lambda axes, steps: {"x": x, "a": i64(axes), "k": i64(steps)}  # noqa: E731
    artefact = faulty(
        check,
        [node("Slice", "x s e a k", "y", name="cutter")],
        "x:f32[4,3] a:i64[2] k:i64[2]",
        "y:f32[P,Q]",
        [],
        [
            (feeds([0, 1], [1, 0]), "cutter", "step"),
            (feeds([0, 2], [1, 1]), "cutter", "axis <= 1", "got 2 and 1"),
            (feeds([0, -3], [1, 1]), "cutter", "-2 <= axis", "got -2 and -3"),
            (feeds([0, 0], [1, 1]), "cutter", "two axes"),
            (feeds([1, -1], [1, 1]), "cutter", "two axes"),
        ],
        {"s": i64([0, 0]), "e": i64([4, 3])},
    )
    artefact.expect(feeds([-1, 0], [2, 1]), {"y": x[0:3, 0:4:2]})
    # Steps beyond any size take the first element, also the least integer.
    artefact.expect(feeds([0, 1], [INT64_MAX, 1]), {"y": x[:1]})
    backwards = check.compile(
        model([node("Slice", "x s e a k", "y")], "x:f32[4,3] k:i64[1]", "y:f32[P,3]",
              {"s": i64([3]), "e": i64([INT64_MIN]), "a": i64([0])}, opset=18)
    )  # fmt: skip
    backwards.expect({"x": x, "k": i64([INT64_MIN])}, {"y": x[3:]})
    backwards.expect({"x": x, "k": i64([-2])}, {"y": x[3::-2]})


@case("RT005-range-without-a-step")
def range_without_a_step(check):
    for kind, dtype in (("i64", np.int64), ("f32", np.float32)):
        scalars = lambda *v: dict(zip("abc", (np.array(n, dtype) for n in v)))  # noqa: B023, E731
        artefact = faulty(
            check,
            [node("Range", "a b c", "y", name="counter")],
            f"a:{kind}[] b:{kind}[] c:{kind}[]",
            f"y:{kind}[N]",
            [],
            [(scalars(0, 5, 0), "counter", "delta"), (scalars(5, 5, 0), "counter", "delta")],
        )
        artefact.expect(scalars(5, 0, -2), {"y": np.array([5, 3, 1], dtype)})
        artefact.expect(scalars(5, 9, -2), {"y": np.array([], dtype)})
        constants = {"c": np.array(0, dtype)}
        m = model([node("Range", "a b c", "y", name="counter")], f"a:{kind}[] b:{kind}[]", f"y:{kind}[N]", constants)
        check.error(m, "counter", "delta is 0")


@case("RT006-windows-larger-than-the-input")
def windows_larger_than_the_input(check):
    """A window that does not fit, also when the stride would hide that."""
    line = lambda n: {"x": f32(np.ones((1, 1, n)))}  # noqa: E731
    w = {"w": f32(np.ones((1, 1, 3)))}
    for op in ("MaxPool", "AveragePool", "LpPool"):
        nodes = [node(op, "x", "y", name="window", kernel_shape=[3], strides=[2])]
        faulty(check, nodes, "x:f32[1,1,N]", "y:f32[1,1,M]", [line(3), line(4)],
               [(line(n), "window", "spatial axis 0", f"got 3 and {n}") for n in (2, 1)])  # fmt: skip
    nodes = [node("Conv", "x w", "y", name="window", strides=[2], pads=[0, 1])]
    faulty(check, nodes, "x:f32[1,1,N]", "y:f32[1,1,M]", [line(2)], [(line(1), "window", "got 3 and 2")], w)
    nodes = [node("ConvTranspose", "x w", "y", name="window", pads=[2, 2])]
    faulty(check, nodes, "x:f32[1,1,N]", "y:f32[1,1,M]", [line(3)], [(line(1), "window", "got 4 and 3")], w)


@case("RT007-reshape-of-the-run")
def reshape_of_the_run(check):
    """Two -1, other negative sizes, a 0 that keeps nothing, other counts, and counts that wrap to the right one."""
    x = f32(np.arange(12)).reshape(4, 3)
    bad = [[-1, -1, 12], [-2, -6, 1], [4, 3, 0], [4, 4, 1], [-1, 5, 1], [2**32, 2**32, 12], [2**62, 4, 3]]
    # An odd factor times its inverse is 1, modulo 2**64.
    bad.append([3, pow(3, -1, 2**64) - 2**64 if pow(3, -1, 2**64) >= 2**63 else pow(3, -1, 2**64), 12])
    artefact = faulty(
        check,
        [node("Reshape", "x s", "y", name="shaper")],
        "x:f32[N,3] s:i64[3]",
        "y:f32[A,B,C]",
        [],
        [({"x": x, "s": i64(s)}, "shaper", "got") for s in bad],
    )
    artefact.expect({"x": x, "s": i64([0, -1, 1])}, {"y": x.reshape(4, 3, 1)})
    artefact.expect({"x": x[:0], "s": i64([0, 5, 7])}, {"y": np.zeros((0, 5, 7), np.float32)})


@case("RT008-values-in-the-message")
def values_in_the_message(check):
    """The message has the two numbers that do not fit."""
    feeds = {"x": f32(np.arange(4))}
    faulty(
        check,
        [node("TopK", "x k", "y i", name="best")],
        "x:f32[N] k:i64[1]",
        "y:f32[M] i:i64[M]",
        [{**feeds, "k": i64([4])}],
        [({**feeds, "k": i64([5])}, "best", "got 5 and 4"), ({**feeds, "k": i64([-1])}, "best", "got 0 and -1")],
    )
    faulty(
        check,
        [node("Add", "x z", "y", name="adder")],
        "x:f32[N] z:f32[M]",
        "y:f32[P]",
        [{**feeds, "z": f32([1])}, {**feeds, "z": f32(np.ones(4))}, {"x": f32([1]), "z": f32(np.ones(4))}],
        [({**feeds, "z": f32([1, 2])}, "adder", "got 4 and 2")],
    )


def loaded_parts(data):
    """(offset, size, flags) of the parts of an ELF file that are loaded."""
    start, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    heads = [struct.unpack_from("<IIQQQQQQ", data, start + 56 * i) for i in range(count)]
    return [(head[2], head[5], head[1]) for head in heads if head[0] == 1 and head[5]]


@case("RT009-damaged-artefact")
def damaged_artefact(check):
    """A flipped bit in headers, tables, code or weights, whatever their size, is refused before anything runs."""
    for count in (40, 600_000):
        w = {"w": f32(np.arange(count) % 7)}
        artefact = check.compile(model([node("Add", "x w", "y")], "x:f32[1]", f"y:f32[{count}]", w))
        data = artefact.path.read_bytes()
        parts = loaded_parts(data)
        places = {at for start, size, _ in parts for at in (start, start + size // 2, start + size - 1)}
        places |= {24, 40}  # the ELF header
        places |= set(range(64, 64 + 56 * 10, 12))  # the segments' table
        note = data.find(b"Kiln\0\0\0\0")
        places |= set(range(note - 12, note + 24))
        places |= {start + size * i // 7 for start, size, _ in parts for i in range(7)}
        feeds = {"x": f32([0])}
        for at in sorted(places):
            damaged = bytearray(data)
            damaged[at] ^= 16
            artefact.path.chmod(0o755)
            artefact.path.write_bytes(damaged)
            process, outputs = artefact.try_run(feeds)
            if process.status not in (4, 5) or outputs:
                raise Wrong(f"byte {at} of {len(data)} (parts {parts}): {process.ending}: {process.first_line()}")
        artefact.path.write_bytes(data)
        artefact.expect(feeds, {"y": w["w"]})


@case("RT010-empty-beside-late")
def empty_beside_late(check):
    """A tensor without elements has a dimension that only the run knows."""
    constants = {"s": i64([0, 0]), "e": i64([INT64_MAX, 0]), "a": i64([1, 0])}
    nodes = [node("NonZero", "x", "z"), node("Slice", "z s e a", "y")]
    artefact = check.compile(model(nodes, "x:f32[N]", "y:i64[A,B]", constants))
    artefact.expect({"x": f32([1, 0, 2])}, {"y": np.zeros((0, 2), np.int64)})
    artefact.expect({"x": f32([0, 0])}, {"y": np.zeros((0, 0), np.int64)})


@case("RT011-sizes-beyond-integers")
def sizes_beyond_integers(check):
    """Sizes that would wrap are errors; such as only no machine has are the run's."""
    line, none = "x:f32[1,1,8]", "y:f32[A,B,C]"
    w = {"w": f32(np.ones((1, 1, 3)))}
    doubled = [node("Concat", ["x" if i == 0 else f"t{i - 1}"] * 2, f"t{i}", axis=0) for i in range(70)]
    for m in (
        model([node("Tile", "x s", "y")], line, none, {"s": i64([1, 3, 2**62])}),
        model([node("Pad", "x s", "y")], line, none, {"s": i64([0, 0, INT64_MAX, 0, 0, INT64_MAX])}),
        model([node("Pad", "x s", "y")], line, none, {"s": i64([0, 0, INT64_MIN, 0, 0, INT64_MIN])}),
        model([node("MaxPool", "x", "y", kernel_shape=[2**62], dilations=[2**62])], line, none),
        model([node("MaxPool", "x", "y", kernel_shape=[2], pads=[2**62, 2**62])], line, none),
        model([node("Conv", "x w", "y", pads=[2**62, 2**62])], line, none, w),
        model([node("ConvTranspose", "x w", "y", strides=[2**62])], line, none, w),
        model(doubled, "x:f32[2]", "t69:f32[A]"),
    ):
        check.error(m)
    scalars = {"a": np.array(0), "b": np.array(2**60), "c": np.array(1)}
    for m in (
        model([node("Range", "a b c", "y")], "", "y:i64[N]", scalars),
        model([node("Expand", "x s", "y")], "x:f32[1]", "y:f32[A]", {"s": i64([2**61])}),
    ):
        feeds = {"x": f32([1])} if m.graph.input else {}
        check.compile(m).expect_error(feeds, ("memory", "impossible"))
    # An output that is a constant would have to be a part of the artefact.
    constant = model([node("ConstantOfShape", "s", "y")], "", "y:f32[A,B]", {"s": i64([2**30, 2**30])})
    check.error(constant, "memory", codes=(FILE,))


@case("RT012-doubled-users")
def doubled_users(check):
    """A chain of squares: there are 2^60 ways through it, but only 60 nodes."""
    nodes = [node("Mul", ["x" if i == 0 else f"t{i - 1}"] * 2, f"t{i}") for i in range(60)]
    artefact = check.compile(model(nodes, "x:f32[N]", "t59:f32[N]"))
    artefact.expect({"x": f32([1, -1, 0])}, {"t59": f32([1, 1, 0])})


@case("RT013-names")
def names(check):
    """A node without an operator, and names that C programs could not see to their ends."""
    check.error(model([node("", "x", "y")], "x:f32[2]", "y:f32[2]"), "no name")
    check.error(model([node("Relu", ["x\0x"], ["y"])], values_of("x:f32[2]"), "y:f32[2]"), codes=(INVALID,))
    infos = values_of("x:f32[2] y:f32[2]")
    infos[1].name = "y\0z"
    check.error(model([node("Relu", ["x"], ["y\0z"])], infos[:1], infos[1:]), "NUL")
