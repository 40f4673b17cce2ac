# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: shapes, empty tensors, dimensions known at run time, inputs and outputs that are the same."""
import numpy as np
from harness import *  # noqa: F403
from numerics import f32, i64


@case("KB016-rank5-broadcast-after-reduce")
def rank5_broadcast_after_reduce(check):
    """A reduction feeds a division of much higher rank."""
    nodes = [node("ReduceMin", "y", "t", axes=[0], keepdims=0), node("Div", "x t", "o")]
    m = model(nodes, "y:f32[2,2] x:f32[1,1,1,1,1]", "o:f32[1,1,1,1,2]", opset=13)
    feeds = {"y": f32([[1, 2], [3, 4]]), "x": np.full((1,) * 5, 6, np.float32)}
    check.values(m, feeds, {"o": f32([6, 3]).reshape(1, 1, 1, 1, 2)})


@case("KB018-slice-empty-result")
def slice_empty_result(check):
    """A step away from the end gives an empty tensor, which flows on."""
    constants = {"b": i64([0]), "e": i64([5]), "a": i64([0]), "s": i64([-1])}
    nodes = [node("Slice", "x b e a s", "y"), node("ReduceSum", "y", "z", keepdims=0)]
    m = model(nodes, "x:f32[10]", "y:f32[0] z:f32[]", constants)
    check.values(m, {"x": np.arange(10, dtype=np.float32)}, {"y": f32([]), "z": f32(0)})


@case("KB019-slice-runtime-negative-start")
def slice_runtime_negative_start(check):
    """Starts that are known at run time: negative, and far out."""
    constants = {"e": i64([INT64_MAX]), "a": i64([0])}
    m = model([node("Slice", "x s e a", "y")], "x:f32[N] s:i64[1]", "y:f32[M]", constants)
    artefact = check.compile(m)
    for start, y in ((-2, [4, 5]), (-99, [1, 2, 3, 4, 5]), (7, []), (0, [1, 2, 3, 4, 5]), (5, []), (-(2**63), [1, 2, 3, 4, 5])):
        artefact.expect({"x": f32([1, 2, 3, 4, 5]), "s": i64([start])}, {"y": f32(y)}, what=f"start {start}: ")


@case("KB033-reshape-allowzero")
def reshape_allowzero(check):
    """A 0 in the shape copies the dimension, unless allowzero says that it is one."""
    m = model([node("Reshape", "x s", "y", allowzero=1)], "x:f32[0,3,4]", "y:f32[3,4,0]", {"s": i64([3, 4, 0])}, opset=14)
    check.values(m, {"x": np.zeros((0, 3, 4), np.float32)}, {"y": np.zeros((3, 4, 0), np.float32)})
    nodes = [node("Reshape", "x s", "t"), node("Reshape", "t u", "y", allowzero=1)]
    constants = {"s": i64([0, 2, 8]), "u": i64([0, 0, 4])}
    m = model(nodes, "x:f32[0,8,2]", "y:f32[0,0,4]", constants, opset=14)
    check.values(m, {"x": np.zeros((0, 8, 2), np.float32)}, {"y": np.zeros((0, 0, 4), np.float32)})
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    m = model([node("Reshape", "x s", "y")], "x:f32[2,3,4]", "y:f32[2,12]", {"s": i64([0, -1])}, opset=14)
    check.values(m, {"x": x}, {"y": x.reshape(2, 12)})
    m = model([node("Reshape", "x s", "y", allowzero=1)], "x:f32[2,3,4]", "y:f32[A,B]", {"s": i64([0, -1])}, opset=14)
    check.error(m, ("Reshape", "allowzero"), codes=(INVALID, REFUSED))


@case("KB035-expand-bidirectional")
def expand_bidirectional(check):
    """Expand's shape broadcasts both ways."""
    m = model([node("Expand", "x s", "y")], "x:f32[3,1]", "y:f32[2,3,4]", {"s": i64([2, 1, 4])}, opset=13)
    x = f32([[1], [2], [3]])
    check.values(m, {"x": x}, {"y": np.broadcast_to(x, (2, 3, 4)).copy()})
    m = model([node("Expand", "x s", "y")], "x:f32[1,3]", "y:f32[2,3]", {"s": i64([2, 1])}, opset=13)
    check.values(m, {"x": f32([[1, 2, 3]])}, {"y": f32([[1, 2, 3], [1, 2, 3]])})


@case("KB036-split-then-squeeze-dynamic")
def split_then_squeeze_dynamic(check):
    """One artefact for every batch, also none."""
    nodes = [
        node("Split", "x s", "a b", axis=-1),
        node("Squeeze", "a q", "c"),
        node("Squeeze", "b q", "d"),
    ]
    constants = {"s": i64([1, 1]), "q": i64([2])}
    artefact = check.compile(model(nodes, "x:f32[N,4,2]", "c:f32[N,4] d:f32[N,4]", constants, opset=13))
    for n in (2, 1, 0):
        x = np.arange(8 * n, dtype=np.float32).reshape(n, 4, 2)
        artefact.expect({"x": x}, {"c": x[..., 0], "d": x[..., 1]}, what=f"N={n}: ")


@case("KB037-split-uneven")
def split_uneven(check):
    """The last part of an uneven split is smaller."""
    m = model([node("Split", "x", "a b c", axis=0, num_outputs=3)], "x:f32[7]", "a:f32[3] b:f32[3] c:f32[1]", opset=18)
    x = np.arange(1, 8, dtype=np.float32)
    check.values(m, {"x": x}, {"a": x[:3], "b": x[3:6], "c": x[6:]})


@case("KB085-output-is-input")
def output_is_input(check):
    """An output that is an input gives that input's value, in its place. (In C: deploy.c, 'alias'.)"""
    m = model([node("Identity", "c", "v")], "x:f32[]", "v:f32[] x:f32[]", {"c": f32(0)})
    check.values(m, {"x": f32(2.3)}, {"v": f32(0), "x": f32(2.3)}, ways="fed O0")
    check.drive("alias", check.compile(m))


@case("KB086-output-is-initializer")
def output_is_initializer(check):
    """An output that is a constant, and an output listed twice (which Kiln may refuse)."""
    m = model([node("Relu", "x", "y")], "x:f32[2]", "y:f32[2] w:f32[2]", {"w": f32([7, 8])})
    check.values(m, {"x": f32([-1, 2])}, {"y": f32([0, 2]), "w": f32([7, 8])})
    check.drive("constant", check.compile(m))
    m = model([node("Relu", "x", "y")], "x:f32[2]", "y:f32[2] y:f32[2]")
    check.values_or_error(m, {"x": f32([-1, 2])}, {"y": f32([0, 2])}, "y")


@case("KB101-clip-nonscalar-bound")
def clip_nonscalar_bound(check):
    """A bound of Clip is a scalar: it never changes the output's shape."""
    x = f32([-1, 5, 2]).reshape(1, 3, 1, 1)
    m = model([node("Clip", "x b", "y")], "x:f32[1,3,1,1] b:f32[3]", "y:f32[1,3,1,1]")
    check.error(m, "Clip", codes=(INVALID, REFUSED))
    m = model([node("Clip", "x b", "y")], "x:f32[1,3,1,1]", "y:f32[1,3,1,1]", {"b": f32([0, 1, 2])})
    check.error(m, "Clip", codes=(INVALID, REFUSED))
    m = model([node("Clip", "x b", "y")], "x:f32[1,3,1,1] b:f32[1]", "y:f32[1,3,1,1]")
    check.values_or_error(m, {"x": x, "b": f32([0])}, {"y": np.maximum(x, 0)}, "Clip")


@case("KB088-initializer-also-input")
def initializer_also_input(check):
    """An input with a default takes the caller's value, and the default again in the next run."""
    w = numpy_w = f32([1, 1])
    m = model([node("Add", "x w", "y")], "x:f32[2] w:f32[2]", "y:f32[2]", {"w": w}, ir=8)
    process, artefact = check.try_compile(m)
    if process.status == REFUSED:
        return check.judge_error(process, {REFUSED}, ["w", "initial"], "kilnc")
    if process.status:
        raise Wrong(f"kilnc: {process.ending}: {check.message(process)}")
    x = f32([1, 2])
    artefact.expect({"x": x}, {"y": x + numpy_w}, what="default: ")
    artefact.expect({"x": x, "w": f32([10, 10])}, {"y": f32([11, 12])}, what="given: ")
    check.drive("default", artefact)


@case("KB089-empty-optional-input")
def empty_optional_input(check):
    """An operand or a result that is left out has no name."""
    m = model([node("Clip", "x _ hi", "y")], "x:f32[3]", "y:f32[3]", {"hi": f32(5)}, opset=13)
    check.values(m, {"x": f32([-100, 0, 7])}, {"y": f32([-100, 0, 5])})
    # Of the operators with more than one result, the recurrent ones may leave out the first.
    weights = {"w": f32([0, 0, 1]).reshape(1, 3, 1), "h": f32([[[2]]])}
    nodes = [node("GRU", "x w w _ _ h", f"_ {name}", hidden_size=1, linear_before_reset=1) for name in "ab"]
    m = model(nodes, "x:f32[1,1,1]", "a:f32[1,1,1] b:f32[1,1,1]", weights, opset=14)
    y = f32([[[(np.tanh(2) + 2) / 2]]])
    check.values(m, {"x": f32([[[1]]])}, {"a": y, "b": y})
    nodes = [node("Dropout", "x", ["y", ""]), node("Dropout", "y", ["z", ""])]
    m = model(nodes, "x:f32[2]", "z:f32[2]", opset=13)
    check.values(m, {"x": f32([1, 2])}, {"z": f32([1, 2])})
