# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: values of element-wise operators, reductions, types of numbers."""
import numpy as np
from harness import *  # noqa: F403

NAN, INF = np.nan, np.inf


def f32(values):
    return np.asarray(values, np.float32)


def i64(values):
    return np.asarray(values, np.int64)


@case("KB001-sub-operand-order")
def sub_operand_order(check):
    """x - (x + 1) is -1, not 1."""
    m = model([node("Add", "x one", "t"), node("Sub", "x t", "y")], "x:f32[1]", "y:f32[1]", {"one": f32(1)})
    check.values(m, {"x": f32([3.5])}, {"y": f32([-1])})


@case("KB002-int-div-truncates")
def int_div_truncates(check):
    """Integer Div rounds towards zero."""
    m = model([node("Div", "a b", "c")], "a:i64[4] b:i64[4]", "c:i64[4]", opset=14)
    check.values(m, {"a": i64([8, -8, 7, -7]), "b": i64([-3, 3, -2, 2])}, {"c": i64([-2, -2, -3, -3])})


@case("KB003-mod-sign")
def mod_sign(check):
    """Mod has the divisor's sign, with fmod=1 the dividend's."""
    a, b = i64([7, -7, 7, -7, 6, -6]), i64([3, 3, -3, -3, -3, 3])
    m = model([node("Mod", "a b", "c")], "a:i64[6] b:i64[6]", "c:i64[6]")
    check.values(m, {"a": a, "b": b}, {"c": i64([1, 2, -2, -1, 0, 0])})
    m = model([node("Mod", "a b", "c", fmod=1)], "a:f32[3] b:f32[3]", "c:f32[3]")
    check.values(m, {"a": f32([5.5, -5.5, 5.5]), "b": f32([2, 2, -2])}, {"c": f32([1.5, -1.5, 1.5])})
    m = model([node("Mod", "a b", "c", fmod=0)], "a:f32[3] b:f32[3]", "c:f32[3]")
    check.error(m, "Mod", "fmod", codes=(INVALID, REFUSED))
    # The older text gives C's remainder, the newest allows fmod=1 for floats only: Kiln may do either.
    m = model([node("Mod", "a b", "c", fmod=1)], "a:i64[6] b:i64[6]", "c:i64[6]")
    check.values_or_error(m, {"a": a, "b": b}, {"c": i64([1, -1, 1, -1, 0, 0])}, "fmod")


@case("KB004-int64-over-2-31")
def int64_over_2_31(check):
    """64-bit integers keep their upper half."""
    nodes = [node("Add", "x c", "y"), node("Mul", "y d", "z")]
    m = model(nodes, "x:i64[2]", "y:i64[2] z:i64[2]", {"c": i64([1, 1]), "d": i64([2, 2])})
    expected = {"y": i64([3000000001, -4999999999]), "z": i64([6000000002, -9999999998])}
    check.values(m, {"x": i64([3000000000, -5000000000])}, expected)


@case("KB005-zero-times-nan-not-folded")
def zero_times_nan(check):
    """x * 0 and x - x keep NaN and infinity, folded or not."""
    m = model([node("Mul", "x z", "y"), node("Sub", "x x", "w")], "x:f32[3]", "y:f32[3] w:f32[3]", {"z": f32(0)})
    check.values(m, {"x": f32([INF, NAN, 2])}, {"y": f32([NAN, NAN, 0]), "w": f32([NAN, NAN, 0])})
    nodes = [node("Sqrt", "z", "s"), node("Reciprocal", "s", "r"), node("Mul", "r z", "y")]
    check.values(model(nodes, "", "y:f32[2]", {"z": f32([0, 0])}), {}, {"y": f32([NAN, NAN])})


@case("KB006-recip-mul-fusion")
def recip_mul_fusion(check):
    """(1 / a) * x with a cast to the same type between."""
    nodes = [node("Div", "one a", "r"), node("Cast", "x", "m", to=F32), node("Mul", "r m", "y")]
    m = model(nodes, "a:f32[2] x:f32[2]", "y:f32[2]", {"one": f32([1])})
    check.values(m, {"a": f32([2, 4]), "x": f32([1, 2])}, {"y": f32([0.5, 0.5])})


@case("KB007-max-min-nan")
def max_min_nan(check):
    """Max and Min hand NaN on (as NumPy does; the text does not say), in either operand, scalar and vector code."""
    for swap in (False, True):
        operands = "c x" if swap else "x c"
        for rows in (3, 64):
            x = f32(([NAN, 1, -2] * rows)[:rows]).reshape(rows, 1)
            m = model(
                [node("Max", operands, "y"), node("Min", operands, "z")],
                f"x:f32[{rows},1]", f"y:f32[{rows},1] z:f32[{rows},1]", {"c": f32([0.5])},
            )  # fmt: skip
            check.values(m, {"x": x}, {"y": np.maximum(x, f32(0.5)), "z": np.minimum(x, f32(0.5))})


@case("KB009-clip-min-above-max")
def clip_min_above_max(check):
    """Clip with min above max gives max."""
    m = model([node("Clip", "x lo hi", "y")], "x:f32[3]", "y:f32[3]", {"lo": f32(2), "hi": f32(1)}, opset=13)
    check.values(m, {"x": f32([-1, 0, 3])}, {"y": f32([1, 1, 1])})
    m = model([node("Clip", "x lo hi", "y")], "x:f32[3] lo:f32[] hi:f32[]", "y:f32[3]", opset=13)
    check.values(m, {"x": f32([-1, 0, 3]), "lo": f32(2), "hi": f32(1)}, {"y": f32([1, 1, 1])})


@case("KB010-cast-float-to-int8")
def cast_float_to_int8(check):
    """Cast truncates; what does not fit is undefined, but the same folded and run, and no trap."""
    m = model([node("Cast", "x", "y", to=I8)], "x:f32[5]", "y:i8[5]")
    check.values(m, {"x": f32([50.9, -50.9, 127, -128, -0.7])}, {"y": np.int8([50, -50, 127, -128, 0])})
    for target, kind in ((I8, "i8"), (U8, "u8"), (I32, "i32"), (I64, "i64")):
        # 37 elements: vector code and its remainder.
        x = f32(([300, NAN, INF, -INF, -300, 1e20, -1e20] * 6)[:37])
        m = model([node("Cast", "x", "y", to=target)], "x:f32[37]", f"y:{kind}[37]")
        run = check.compile(m).run({"x": x})["y"]
        folded = check.compile(fold_inputs(m, {"x": x})).run({})["y"]
        plain = check.compile(m, "-O0").run({"x": x})["y"]
        if not (np.array_equal(run, folded) and np.array_equal(run, plain)):
            raise Wrong(f"run {short(run)}, folded {short(folded)}, -O0 {short(plain)}")
        if not np.array_equal(run[:7], run[28:35]):
            raise Wrong(f"vector code and its remainder differ: {short(run)}")


@case("KB012-sinh-cosh-near-overflow")
def sinh_cosh_near_overflow(check):
    """Sinh and Cosh stay finite while the true value fits."""
    x = f32([88.85, 89, 89.2, -88.95])
    expected = {"s": f32([1.9321e38, 2.2448e38, 2.7418e38, -2.1353e38])}
    expected["c"] = np.abs(expected["s"])
    m = model([node("Sinh", "x", "s"), node("Cosh", "x", "c")], "x:f32[4]", "s:f32[4] c:f32[4]")
    check.values(m, {"x": x}, expected, rtol=1e-4)


@case("KB013-softplus-accuracy")
def softplus_accuracy(check):
    """Softplus is accurate where exp(x) is small, and does not overflow."""
    x = f32([-12.3392, -30, 40, 100, -100])
    expected = np.log1p(np.exp(x.astype(np.float64))).astype(np.float32)
    m = model([node("Softplus", "x", "y")], "x:f32[5]", "y:f32[5]")
    check.values(m, {"x": x}, {"y": expected}, rtol=1e-3, atol=1e-40)


@case("KB014-prelu-slope-broadcast")
def prelu_slope_broadcast(check):
    """PRelu's slope broadcasts from the right."""
    m = model([node("PRelu", "x s", "y")], "x:f32[1,2,2]", "y:f32[1,2,2]", {"s": f32([[0.5], [2]])}, opset=16)
    check.values(m, {"x": f32([[[-1, 2], [-3, -4]]])}, {"y": f32([[[-0.5, 2], [-6, -8]]])})


@case("KB015-mean-variadic-broadcast")
def mean_variadic_broadcast(check):
    """Mean of three operands that broadcast."""
    m = model([node("Mean", "a b c", "y")], "a:f32[2,1] b:f32[1,2] c:f32[1]", "y:f32[2,2]", opset=13)
    feeds = {"a": f32([[1], [2]]), "b": f32([[10, 20]]), "c": f32([3])}
    check.values(m, feeds, {"y": f32([[14 / 3, 8], [5, 25 / 3]])})


@case("KB038-reduce-noop-empty-axes")
def reduce_noop_empty_axes(check):
    """noop_with_empty_axes leaves out the reduction, not the function of each element."""
    x = f32([[1, -2], [3, -4]])
    m = model([node("ReduceSum", "x", "y", noop_with_empty_axes=1)], "x:f32[2,2]", "y:f32[2,2]", opset=13)
    check.values(m, {"x": x}, {"y": x})
    for noop, op, expected in (
        (1, "ReduceSumSquare", [[1, 4], [9, 16]]),
        (0, "ReduceSum", [[-2]]),
        (0, "ReduceSumSquare", [[30]]),
    ):
        for constants in ({}, {"axes": i64([])}):
            m = model(
                [node(op, "x axes" if constants else "x", "y", noop_with_empty_axes=noop)],
                "x:f32[2,2]", "y:f32[2,2]" if noop else "y:f32[1,1]", constants, opset=18,
            )  # fmt: skip
            check.values(m, {"x": x}, {"y": f32(expected)})


@case("KB024-topk-ties")
def topk_ties(check):
    """Among equal values TopK takes the lower index."""
    for x, kind, largest, values, indices in (
        (f32([3, 1, 3, 2, 3]), "f32", 1, [3, 3], [0, 2]),
        (f32([1, 0, 0, 2]), "f32", 0, [0, 0], [1, 2]),
        (np.uint8([0, 255, 3]), "u8", 0, [0, 3], [0, 2]),
    ):
        m = model(
            [node("TopK", "x k", "v i", axis=0, largest=largest)],
            f"x:{kind}[{len(x)}]", f"v:{kind}[2] i:i64[2]", {"k": i64([2])}, opset=11,
        )  # fmt: skip
        check.values(m, {"x": x}, {"v": np.asarray(values, x.dtype), "i": i64(indices)})


@case("KB025-argmax-ties")
def argmax_ties(check):
    """Of several maxima ArgMax and Hardmax take the first, unless the last is asked for."""
    nodes = [
        node("ArgMax", "x", "a", axis=0, keepdims=0),
        node("ArgMax", "x", "b", axis=0, keepdims=0, select_last_index=1),
        node("Hardmax", "x", "h", axis=0),
    ]
    m = model(nodes, "x:f32[4]", "a:i64[] b:i64[] h:f32[4]", opset=13)
    check.values(m, {"x": f32([2, 5, 5, 1])}, {"a": i64(1), "b": i64(2), "h": f32([0, 1, 0, 0])})
    m = model(nodes[:2], "x:f32[1000]", "a:i64[] b:i64[]", opset=13)
    check.values(m, {"x": np.full(1000, 7, np.float32)}, {"a": i64(0), "b": i64(999)})


@case("KB026-argmax-nan")
def argmax_nan(check):
    """ArgMax and TopK of NaN: some index in range, the same folded and run (the text says nothing)."""
    x = np.full(58, NAN, np.float32)
    m = model([node("ArgMax", "x", "a", axis=0, keepdims=0)], "x:f32[58]", "a:i64[]", opset=13)
    run = check.compile(m).run({"x": x})["a"]
    folded = check.compile(fold_inputs(m, {"x": x})).run({})["a"]
    if not 0 <= run < 58 or run != folded:
        raise Wrong(f"ArgMax gives {run}, folded {folded}")
    x = f32([1, NAN, 3, 2, NAN, 0])
    m = model([node("TopK", "x k", "v i", axis=0)], "x:f32[6]", "v:f32[3] i:i64[3]", {"k": i64([3])}, opset=13)
    run = check.compile(m).run({"x": x})["i"]
    folded = check.compile(fold_inputs(m, {"x": x})).run({})["i"]
    if len(set(run.tolist())) != 3 or not all(0 <= i < 6 for i in run) or not np.array_equal(run, folded):
        raise Wrong(f"TopK gives indices {short(run)}, folded {short(folded)}")


@case("KB057-softmax-opset-below-13")
def softmax_opset_below_13(check):
    """Before opset 13 Softmax, LogSoftmax and Hardmax flatten from axis 1 on."""
    x = np.log(f32([[[1, 2], [3, 4]]]))
    old, new = f32([[[0.1, 0.2], [0.3, 0.4]]]), f32([[[1 / 3, 2 / 3], [3 / 7, 4 / 7]]])
    for op, opset, expected in (
        ("Softmax", 11, old),
        ("Softmax", 13, new),
        ("LogSoftmax", 11, np.log(old)),
        ("LogSoftmax", 13, np.log(new)),
        ("Hardmax", 11, f32([[[0, 0], [0, 1]]])),
        ("Hardmax", 13, f32([[[0, 1], [0, 1]]])),
    ):
        m = model([node(op, "x", "y")], "x:f32[1,2,2]", "y:f32[1,2,2]", opset=opset)
        check.values(m, {"x": x}, {"y": expected})


@case("KB058-softmax-large-logits")
def softmax_large_logits(check):
    """Large logits and masks of -1e12 do not overflow."""
    m = model([node("Softmax", "x", "y")], "x:f16[1,3]", "y:f16[1,3]", opset=13)
    check.values(m, {"x": np.float16([[60000, 60000, 0]])}, {"y": np.float16([[0.5, 0.5, 0]])})
    nodes = [node("Add", "x m", "t"), node("Softmax", "t", "y")]
    m = model(nodes, "x:f32[1,3]", "y:f32[1,3]", {"m": f32([[0, 0, -1e12]])}, opset=13)
    check.values(m, {"x": f32([[1, 1, 5]])}, {"y": f32([[0.5, 0.5, 0]])})


@case("KB063-reducemean-f16")
def reducemean_f16(check):
    """The mean of halves does not overflow on the way (the accumulator's type is Kiln's choice: float)."""
    for rows in (1, 5):
        m = model(
            [node("ReduceMean", "x", "y", axes=[1], keepdims=0)], f"x:f16[{rows},4096]", f"y:f16[{rows}]", opset=13
        )
        x = np.full((rows, 4096), 100, np.float16)
        check.values(m, {"x": x}, {"y": np.full(rows, 100, np.float16)})


@case("KB072-quantize-saturate-last")
def quantize_saturate_last(check):
    """QuantizeLinear adds the zero point, then saturates to the whole range."""
    x = f32([-129, -128, -127, 126, 127, 128, 300])
    m = model(
        [node("QuantizeLinear", "x s z", "y")], "x:f32[7]", "y:i8[7]", {"s": f32(1), "z": np.int8(0)}, opset=13
    )
    check.values(m, {"x": x}, {"y": np.int8([-128, -128, -127, 126, 127, 127, 127])})
    m = model(
        [node("QuantizeLinear", "x s z", "y")], "x:f32[4]", "y:u8[4]", {"s": f32(1), "z": np.uint8(128)}, opset=13
    )
    check.values(m, {"x": f32([-300, -10, 100, 300])}, {"y": np.uint8([0, 118, 228, 255])})


@case("KB073-dynamic-quantize-one-sided")
def dynamic_quantize_one_sided(check):
    """DynamicQuantizeLinear's range includes 0."""
    m = model([node("DynamicQuantizeLinear", "x", "y s z")], "x:f32[3]", "y:u8[3] s:f32[] z:u8[]", opset=11)
    expected = {"y": np.uint8([191, 64, 0]), "s": f32(4 / 255), "z": np.uint8(255)}
    check.values(m, {"x": f32([-1, -3, -4])}, expected)


@case("KB074-dequantize-blocked")
def dequantize_blocked(check):
    """A scale of blocks along the axis."""
    m = model(
        [node("DequantizeLinear", "x s z", "y", axis=1, block_size=2)], "x:u8[1,4]", "y:f32[1,4]",
        {"s": f32([[1, 2]]), "z": np.uint8([[1, 2]])}, opset=21,
    )  # fmt: skip
    check.values(m, {"x": np.full((1, 4), 10, np.uint8)}, {"y": f32([[9, 9, 16, 16]])})


@case("KB075-int4-odd-packing")
def int4_odd_packing(check):
    """Four-bit constants: the low half first, an odd count is padded."""
    for dtype, raw, expected in ((21, b"\x21\x03", [1, 2, 3]), (22, b"\xf8\x07", [-8, -1, 7])):
        w = onnx.TensorProto(name="w", data_type=dtype, dims=[3], raw_data=raw)
        s = tensor("s", 1)
        m = model([node("DequantizeLinear", "w s", "y")], "", "y:f32[3]", [w, s], opset=21)
        check.values(m, {}, {"y": f32(expected)})


@case("KB076-bf16-rounding")
def bf16_rounding(check):
    """A cast to bfloat16 rounds to nearest even (the maintainers' word), and NaN stays NaN."""
    bits = np.uint32([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800001, 0xBF808000])
    halves = np.uint32([0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7FC0, 0xBF80]) << 16
    nodes = [node("Cast", "x", "b", to=BF16), node("Cast", "b", "y", to=F32)]
    for count in (1, 7):  # the remainder of vector code, and vector code
        m = model(nodes, f"x:f32[{6 * count}]", f"y:f32[{6 * count}]")
        x, y = (np.tile(b.view(np.float32), count) for b in (bits, halves))
        check.values(m, {"x": x}, {"y": y}, rtol=0, atol=0)


@case("KB077-float8-saturate")
def float8_saturate(check):
    """A saturating cast to float8 (infinity of E4M3FNUZ is left open by the text, so not checked)."""
    nodes = [node("Cast", "x", "b", to=17), node("Cast", "b", "y", to=F32)]
    x = f32([0, 1, 464, 1e6, -1e6, NAN, INF, -INF])
    check.values(
        model(nodes, "x:f32[8]", "y:f32[8]", opset=21), {"x": x},
        {"y": f32([0, 1, 448, 448, -448, NAN, 448, -448])}, rtol=0, atol=0,
    )  # fmt: skip
    nodes = [node("Cast", "x", "b", to=18), node("Cast", "b", "y", to=F32)]
    check.values(
        model(nodes, "x:f32[5]", "y:f32[5]", opset=21), {"x": f32([0, 1, 1e6, -1e6, NAN])},
        {"y": f32([0, 1, 240, -240, NAN])}, rtol=0, atol=0,
    )  # fmt: skip
