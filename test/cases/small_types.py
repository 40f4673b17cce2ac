# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of 2 to 8 bits, as constants, inputs, outputs and in between."""
import ml_dtypes
import numpy as np
from harness import *  # noqa: F403
from numerics import f32, i64

INF, NAN = np.inf, np.nan
FLOATS = {
    17: ml_dtypes.float8_e4m3fn,
    18: ml_dtypes.float8_e4m3fnuz,
    19: ml_dtypes.float8_e5m2,
    20: ml_dtypes.float8_e5m2fnuz,
    23: ml_dtypes.float4_e2m1fn,
}
INTEGERS = {21: ml_dtypes.uint4, 22: ml_dtypes.int4, 25: ml_dtypes.uint2, 26: ml_dtypes.int2}


def info(name, number, *dims):
    return [helper.make_tensor_value_info(name, number, dims)]


def bits_of(array):
    """What kiln-run writes: NumPy itself has none of these types."""
    if array.dtype.name.startswith("float"):
        return array.view(np.uint8)
    return array.astype(np.int8 if array.dtype.name.startswith("int") else np.uint8)


@case("ST001-casts-of-small-floats")
def casts_of_small_floats(check):
    """To and from outputs and inputs: subnormal numbers, ties, the largest, what is beyond, NaN."""
    ends = f32([0, -0.0, INF, -INF, 1e9, -1e9, 448, 464, 465, 240, 57344, 61440, 6, 5, 7, -2.5, 2**-10, 3 * 2**-11])
    x = np.concatenate([ends, f32(np.random.default_rng(1).standard_normal(64) * 3)])
    for number, kind in FLOATS.items():
        expected = np.clip(x, float(ml_dtypes.finfo(kind).min), float(ml_dtypes.finfo(kind).max)).astype(kind)
        nodes = [node("Cast", "x", "y", to=number)]
        artefact = check.compile(model(nodes, f"x:f32[{x.size}]", info("y", number, x.size), opset=23))
        artefact.expect({"x": x}, {"y": bits_of(expected)})
        back = check.compile(model([node("Cast", "x", "y", to=1)], info("x", number, x.size), f"y:f32[{x.size}]", opset=23))
        back.expect({"x": numpy_helper.from_array(expected, "x")}, {"y": expected.astype(np.float32)}, rtol=0, atol=0)
        nan = artefact.run({"x": f32(np.full(x.size, NAN))})["y"].view(kind).astype(np.float32)
        if not np.array_equal(nan, np.zeros_like(nan)) if number == 23 else not np.isnan(nan).all():
            raise Wrong(f"NaN becomes {nan} as {kind}")
        if number != 23:
            nodes = [node("Cast", "x", "b", to=number, saturate=0), node("Cast", "b", "y", to=1)]
            open_ended = model(nodes, f"x:f32[{x.size}]", f"y:f32[{x.size}]", opset=23)
            check.values(open_ended, {"x": x}, {"y": x.astype(kind).astype(np.float32)}, rtol=0, atol=0)


@case("ST002-packed-constants-and-inputs")
def packed_constants_and_inputs(check):
    """An odd number of elements, in a constant, an input and an output."""
    for number, kind in INTEGERS.items():
        low, high = ml_dtypes.iinfo(kind).min, ml_dtypes.iinfo(kind).max
        values = np.array([low, high, 0, 1, high, low, 1], np.int64).astype(kind)
        wide = values.astype(np.float32)
        constant = numpy_helper.from_array(values, "w")
        nodes = [node("Cast", "w", "y", to=1)]
        check.values(model(nodes, "", "y:f32[7]", [constant], opset=25), {}, {"y": wide})
        given = check.compile(model(nodes, info("w", number, 7), "y:f32[7]", opset=25))
        given.expect({"w": constant}, {"y": wide})
        through = check.compile(model([node("Cast", "x", "y", to=number)], "x:f32[7]", info("y", number, 7), opset=25))
        through.expect({"x": wide}, {"y": bits_of(values)})


@case("ST003-quantized-weights")
def quantized_weights(check):
    """Blocks of four-bit weights in front of a matrix product, with and without zero points."""
    rng = np.random.default_rng(2)
    for number, kind in ((21, ml_dtypes.uint4), (22, ml_dtypes.int4), (17, ml_dtypes.float8_e4m3fn)):
        low, high = (0, 16) if number == 21 else (-8, 8)
        w = rng.integers(low, high, (32, 6)).astype(kind)
        scale = f32(rng.uniform(0.5, 2, (4, 6)))
        zero = rng.integers(max(low, 0), 4, (4, 6)).astype(kind) if number != 17 else np.zeros((4, 6), kind)
        x = f32(rng.standard_normal((3, 32)))
        whole = (w.astype(np.float32) - np.repeat(zero.astype(np.float32), 8, 0)) * np.repeat(scale, 8, 0)
        constants = [numpy_helper.from_array(v, k) for k, v in {"w": w, "s": scale, "z": zero}.items()]
        nodes = [node("DequantizeLinear", "w s z", "d", axis=0, block_size=8), node("MatMul", "x d", "y")]
        m = model(nodes, "x:f32[3,32]", "y:f32[3,6]", constants, opset=23)
        check.values(m, {"x": x}, {"y": x @ whole}, rtol=1e-4, atol=1e-4)


@case("ST004-quantize-to-small-types")
def quantize_to_small_types(check):
    """Saturates to the range of the type; nothing is packed on the way to the next operator."""
    x = f32([0, 0.5, 1.5, 2.5, -3, 100, -100, 7.4, 7.6, 1, 2])
    for number, kind in {**FLOATS, **INTEGERS}.items():
        zero = numpy_helper.from_array(np.array(0, kind), "z")
        nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]
        m = model(nodes, "x:f32[11]", "y:f32[11]", [tensor("s", 0.5), zero], opset=25)
        of = ml_dtypes.finfo if number in FLOATS else ml_dtypes.iinfo
        quotient = x / f32(0.5) if number in FLOATS else np.rint(x / f32(0.5))
        quantized = np.clip(quotient, float(of(kind).min), float(of(kind).max)).astype(kind)
        check.values(m, {"x": x}, {"y": quantized.astype(np.float32) * f32(0.5)})


@case("ST005-small-types-are-moved")
def small_types_are_moved(check):
    """Transposed, reshaped and joined without a conversion."""
    for number, kind in ((22, ml_dtypes.int4), (19, ml_dtypes.float8_e5m2)):
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32).astype(kind)
        nodes = [node("Transpose", "x", "t"), node("Reshape", "t s", "y")]
        artefact = check.compile(model(nodes, info("x", number, 2, 3), info("y", number, 6), {"s": i64([6])}, opset=25))
        artefact.expect({"x": numpy_helper.from_array(x, "x")}, {"y": bits_of(x.T.reshape(6).copy())})
