# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: Loop, Scan, functions."""
import numpy as np
from harness import *  # noqa: F403
from numerics import f32, i64


def graph(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", values_of(inputs), values_of(outputs), list(constants))


@case("KB078-loop-iteration-number")
def loop_iteration_number(check):
    """A Loop body's first input is the number of the iteration."""
    body = graph(
        [node("Cast", "i", "f", to=F32), node("Add", "s f", "t"), node("Identity", "c", "d")],
        "i:i64[] c:bool[] s:f32[1]", "d:bool[] t:f32[1]",
    )  # fmt: skip
    m = model([node("Loop", "m _ x", "y", body=body)], "x:f32[1]", "y:f32[1]", {"m": i64(5)}, opset=16)
    check.values(m, {"x": f32([0])}, {"y": f32([10])})


@case("KB079-loop-scan-output-alias")
def loop_scan_output_alias(check):
    """Each iteration's scan output is kept; the trip count is known at run time."""
    body = graph(
        [node("Identity", "i", "o"), node("Identity", "c", "d")], "i:i64[] c:bool[]", "d:bool[] o:i64[]"
    )
    m = model([node("Loop", "m _", "y", body=body)], "m:i64[]", "y:i64[T]", opset=16)
    artefact = check.compile(m)
    for trips in (3, 5, 0, 1):
        artefact.expect({"m": i64(trips)}, {"y": np.arange(trips, dtype=np.int64)}, what=f"M={trips}: ")


@case("KB080-loop-zero-trips")
def loop_zero_trips(check):
    """No iteration: the carried value passes, the stack is empty."""
    body = graph(
        [node("Add", "s s", "t"), node("Identity", "t", "o"), node("Identity", "c", "d")],
        "i:i64[] c:bool[] s:f32[2]", "d:bool[] t:f32[2] o:f32[2]",
    )  # fmt: skip
    m = model([node("Loop", "m _ x", "y z", body=body)], "m:i64[] x:f32[2]", "y:f32[2] z:f32[T,2]", opset=16)
    artefact = check.compile(m)
    x = f32([1, 2])
    artefact.expect({"m": i64(0), "x": x}, {"y": x, "z": np.zeros((0, 2), np.float32)}, what="M=0: ")
    artefact.expect({"m": i64(2), "x": x}, {"y": 4 * x, "z": np.stack([2 * x, 4 * x])}, what="M=2: ")


@case("KB083-subgraph-shadowing")
def subgraph_shadowing(check):
    """An inner name that is also an outer one: an error that names it, or the inner one wins."""
    body = graph(
        [node("Add", "b two", "n"), node("Identity", "c", "d")], "i:i64[] c:bool[] b:f32[1]", "d:bool[] n:f32[1]"
    )
    constants = {"m": i64(3), "two": f32([2]), "b": f32([1])}
    m = model([node("Loop", "m _ b", "y", body=body)], "", "y:f32[1]", constants, opset=16)
    check.values_or_error(m, {}, {"y": f32([7])}, "'b'")


@case("KB084-scan-directions-axes")
def scan_directions_axes(check):
    """Scan forwards and backwards, along the last axis too."""

    def body(kind):
        return graph(
            [node("Add", "a i", "t"), node("Identity", "t", "o")], f"a:{kind} i:{kind}", f"t:{kind} o:{kind}"
        )

    for attributes, outputs in (
        ({}, [1, 3, 6]),
        ({"scan_input_directions": [1]}, [3, 5, 6]),
        ({"scan_input_directions": [1], "scan_output_directions": [1]}, [6, 5, 3]),
    ):
        scan = node("Scan", "s x", "y z", body=body("f32[]"), num_scan_inputs=1, **attributes)
        m = model([scan], "s:f32[] x:f32[3]", "y:f32[] z:f32[3]", opset=16)
        check.values(m, {"s": f32(0), "x": f32([1, 2, 3])}, {"y": f32(6), "z": f32(outputs)})
    scan = node(
        "Scan", "s x", "y z", body=body("f32[2]"), num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[-1]
    )
    m = model([scan], "s:f32[2] x:f32[2,3]", "y:f32[2] z:f32[2,3]", opset=16)
    expected = {"y": f32([6, 15]), "z": f32([[1, 3, 6], [4, 9, 15]])}
    check.values(m, {"s": f32([0, 0]), "x": f32([[1, 2, 3], [4, 5, 6]])}, expected)


def function(name, nodes, inputs="x", outputs="y"):
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, inputs.split(), outputs.split(), nodes, opsets)


@case("KB094-recursive-function")
def recursive_function(check):
    """Functions that call each other in a cycle, also inside If; and some that do not."""

    def call(name, operands="x", results="y"):
        return node(name, operands, results, domain="local")

    def with_functions(*functions):
        return model([call("f")], "x:f32[]", "y:f32[]", functions=functions, imports=[("local", 1)])

    check.error(with_functions(function("f", [call("f")])), "f")
    check.error(with_functions(function("f", [call("g")]), function("g", [call("f")])), "f", "g")
    yes = helper.make_graph([call("f", "x", "r")], "yes", [], values_of("r:f32[]"))
    no = helper.make_graph([node("Identity", "x", "q")], "no", [], values_of("q:f32[]"))
    inside = [
        node("Constant", "", "c", value=tensor("c", True, bool)),
        node("If", "c", "y", then_branch=yes, else_branch=no),
    ]
    check.error(with_functions(function("f", inside)), "f")
    good = [
        function("f", [call("g", "x", "t"), node("Constant", "", "one", value=tensor("one", 1)),
                       node("Add", "t one", "y")]),
        function("g", [node("Add", "x x", "y")]),
    ]  # fmt: skip
    m = with_functions(*good)
    m.graph.node.append(call("f", "y", "z"))
    m.graph.output.extend(values_of("z:f32[]"))
    check.values(m, {"x": f32(3)}, {"y": f32(7), "z": f32(15)})
