# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: operators that move data, windows, normalization, recurrent layers, attention, losses."""
import numpy as np
from harness import *  # noqa: F403
from numerics import INF, f32, i64


@case("KB021-scatternd-index-depth")
def scatternd_index_depth(check):
    """ScatterND: the last dimension of the indices is their depth; negative ones count from the end."""
    m = model(
        [node("ScatterND", "d i u", "y")], "d:f32[3,3] i:i64[2,2] u:f32[2]", "y:f32[3,3]", opset=18
    )
    y = np.zeros((3, 3), np.float32)
    y[0, 1], y[2, 2] = 5, 7
    feeds = {"d": np.zeros((3, 3), np.float32), "i": i64([[0, 1], [-1, -1]]), "u": f32([5, 7])}
    check.values(m, feeds, {"y": y})


@case("KB023-onehot-range")
def onehot_range(check):
    """OneHot: negative indices count from the end, those out of range give a row that is off."""
    m = model(
        [node("OneHot", "i d v", "y", axis=-1)], "i:i64[3]", "y:f32[3,3]", {"d": i64(3), "v": f32([0, 1])}, opset=11
    )
    check.values(m, {"i": i64([0, -1, 5])}, {"y": f32([[1, 0, 0], [0, 0, 1], [0, 0, 0]])})


@case("KB027-maxpool-indices")
def maxpool_indices(check):
    """MaxPool's indices count over all channels; storage_order=1 is column-major inside a plane."""
    x = f32([[[[1, 2], [3, 4]], [[5, 6], [8, 7]]]])
    for order, indices in ((0, [3, 6]), (1, [3, 5])):
        pool = node("MaxPool", "x", "y i", kernel_shape=[2, 2], strides=[2, 2], storage_order=order)
        m = model([pool], "x:f32[1,2,2,2]", "y:f32[1,2,1,1] i:i64[1,2,1,1]", opset=12)
        expected = {"y": f32([4, 8]).reshape(1, 2, 1, 1), "i": i64(indices).reshape(1, 2, 1, 1)}
        check.values(m, {"x": x}, expected)


@case("KB029-reverse-sequence")
def reverse_sequence(check):
    """Each column is reversed up to its own length."""
    m = model(
        [node("ReverseSequence", "x l", "y", time_axis=0, batch_axis=1)], "x:f32[3,2] l:i64[2]", "y:f32[3,2]", opset=10
    )
    feeds = {"x": f32([[1, 2], [3, 4], [5, 6]]), "l": i64([3, 1])}
    check.values(m, feeds, {"y": f32([[5, 2], [3, 4], [1, 6]])})


@case("KB030-space-depth-order")
def space_depth_order(check):
    """SpaceToDepth, and DepthToSpace in both modes."""
    m = model([node("SpaceToDepth", "x", "y", blocksize=2)], "x:f32[1,2,2,2]", "y:f32[1,8,1,1]", opset=13)
    y = f32([1, 5, 2, 6, 3, 7, 4, 8]).reshape(1, 8, 1, 1)
    check.values(m, {"x": np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2)}, {"y": y})
    for mode, y in (("DCR", [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]), ("CRD", [[[0, 1], [2, 3]], [[4, 5], [6, 7]]])):
        m = model(
            [node("DepthToSpace", "x", "y", blocksize=2, mode=mode)], "x:f32[1,8,1,1]", "y:f32[1,2,2,2]", opset=13
        )
        check.values(m, {"x": np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1)}, {"y": f32([y])})


@case("KB040-gemm-flags")
def gemm_flags(check):
    """Gemm's flags and the broadcast of C; Flatten at any axis."""
    a = f32([[1, 2], [3, 4]])
    m = model(
        [node("Gemm", "a b c", "y", transA=1, alpha=0.5, beta=2.0)], "a:f32[2,2]", "y:f32[2,2]",
        {"b": np.eye(2, dtype=np.float32), "c": f32([[10], [20]])}, opset=13,
    )  # fmt: skip
    check.values(m, {"a": a}, {"y": f32([[20.5, 21.5], [41, 42]])})
    b = f32([[1, 2], [0, 1]])
    m = model([node("Gemm", "a b", "y")], "a:f32[2,2] b:f32[2,2]", "y:f32[2,2]", opset=13)
    check.values(m, {"a": a, "b": b}, {"y": a @ b})
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    for axis, shape in ((0, (1, 6)), (-1, (2, 3)), (1, (1, 6)), (3, (6, 1))):
        m = model(
            [node("Flatten", "x", "y", axis=axis)], "x:f32[1,2,3]", f"y:f32[{shape[0]},{shape[1]}]", opset=13
        )
        check.values(m, {"x": x}, {"y": x.reshape(shape)})


@case("KB042-conv-group-dilation-asympad")
def conv_group_dilation_asympad(check):
    """Conv with groups, dilation and uneven padding together."""
    x, w = f32([[[1, 2, 3, 4], [5, 6, 7, 8]]]), f32([[[1, 10]], [[2, 1]]])
    conv = node("Conv", "x w", "y", group=2, dilations=[2], pads=[1, 0])
    y = f32([[[20, 31, 42], [6, 17, 20]]])
    m = model([conv], "x:f32[1,2,4]", "y:f32[1,2,3]", {"w": w}, opset=11)
    check.values(m, {"x": x}, {"y": y})
    m = model([conv], "x:f32[1,2,4] w:f32[2,1,2]", "y:f32[1,2,3]", opset=11)
    check.values(m, {"x": x, "w": w}, {"y": y})


@case("KB043-convtranspose-autopad")
def convtranspose_autopad(check):
    """SAME_UPPER and SAME_LOWER make the output input times stride."""
    w = {"w": np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)}
    m = model(
        [node("ConvTranspose", "x w", "y", auto_pad="SAME_UPPER")], "x:f32[1,1,2,2]", "y:f32[1,1,2,2]", w, opset=11
    )
    check.values(m, {"x": f32([[[[1, 2], [3, 4]]]])}, {"y": f32([[[[23, 33], [53, 63]]]])})
    for mode, y in (("SAME_UPPER", [1, 10, 102, 20, 203, 30]), ("SAME_LOWER", [10, 102, 20, 203, 30, 300])):
        m = model(
            [node("ConvTranspose", "x w", "y", auto_pad=mode, strides=[2])],
            "x:f32[1,1,3]", "y:f32[1,1,6]", {"w": f32([[[1, 10, 100]]])}, opset=11,
        )  # fmt: skip
        check.values(m, {"x": f32([[[1, 2, 3]]])}, {"y": f32([[y]])})


@case("KB047-maxpool-pad-value")
def maxpool_pad_value(check):
    """Padding never wins in MaxPool, also of int8."""
    for dtype, kind in ((np.float32, "f32"), (np.int8, "i8")):
        m = model(
            [node("MaxPool", "x", "y", kernel_shape=[2], strides=[1], pads=[1, 1])],
            f"x:{kind}[1,1,3]", f"y:{kind}[1,1,4]", opset=12,
        )  # fmt: skip
        check.values(m, {"x": np.asarray([[[-3, -1, -2]]], dtype)}, {"y": np.asarray([[[-3, -1, -1, -2]]], dtype)})


@case("KB049-resize-round-prefer-floor")
def resize_round_prefer_floor(check):
    """A tie goes down."""
    resize = node(
        "Resize", "x _ s", "y", mode="nearest", coordinate_transformation_mode="half_pixel",
        nearest_mode="round_prefer_floor",
    )  # fmt: skip
    m = model([resize], "x:f32[1,1,3,3]", "y:f32[1,1,4,4]", {"s": f32([1, 1, 1.5, 1.5])}, opset=13)
    y = f32([[[[0, 0, 1, 2], [0, 0, 1, 2], [3, 3, 4, 5], [6, 6, 7, 8]]]])
    check.values(m, {"x": np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)}, {"y": y})


@case("KB051-pad-negative")
def pad_negative(check):
    """Negative pads crop. With reflect the order of crop and reflection is open: an error, or NumPy of the cropped."""
    x = f32([1, 2, 3, 4, 5])
    m = model(
        [node("Pad", "x p v", "y")], "x:f32[5]", "y:f32[6]", {"p": i64([-1, 2]), "v": f32(9)}, opset=13
    )
    check.values(m, {"x": x}, {"y": f32([2, 3, 4, 5, 9, 9])})
    m = model(
        [node("Pad", "x p", "y", mode="reflect")], "x:f32[5]", "y:f32[5]", {"p": i64([-4, 4])}, opset=13
    )
    process, artefact = check.try_compile(m)
    if process.status in (INVALID, REFUSED):
        return check.judge_error(process, {INVALID, REFUSED}, ["pad"], "kilnc")
    if process.status:
        raise Wrong(f"kilnc: {process.ending}")
    process, outputs = artefact.try_run({"x": x})
    if process.status:
        return check.judge_error(process, {3}, ["pad"], "kiln-run")
    # Crop, then reflect what has one element: 5 all over. Reflect, then crop: 5 4 3 2 1.
    if outputs["y"].tolist() not in ([5, 5, 5, 5, 5], [5, 4, 3, 2, 1]):
        raise Wrong(f"y is {short(outputs['y'])}, neither order of crop and reflection")


@case("KB053-pad-reflect-too-large")
def pad_reflect_too_large(check):
    """A reflection longer than its axis is an error when compiling, or when running if the pads are an input."""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    pad = node("Pad", "x p", "y", mode="reflect")
    m = model([pad], "x:f32[3,2]", "y:f32[3,4]", {"p": i64([0, 2, 0, 0])}, opset=13)
    check.error(m, "pad", codes=(INVALID, REFUSED))
    m = model([pad], "x:f32[3,2] p:i64[4]", "y:f32[A,B]", opset=13)
    artefact = check.compile(m)
    good = {"x": x, "p": i64([0, 1, 0, 0])}
    artefact.expect(good, {"y": np.pad(x, [(0, 0), (1, 0)], mode="reflect")})
    artefact.expect_error({"x": x, "p": i64([0, 2, 0, 0])}, "pad")


@case("KB054-gridsample-corners")
def gridsample_corners(check):
    """Corners and padding at the edge of the image."""
    x, grid = f32([[[[1, 2], [3, 4]]]]), f32([[[[-1, -1], [1, 1]]]])
    for corners, padding, y in (
        (1, "zeros", [1, 4]),
        (0, "zeros", [0.25, 1]),
        (0, "border", [1, 4]),
        (0, "reflection", [1, 4]),
    ):
        sample = node("GridSample", "x g", "y", align_corners=corners, padding_mode=padding, mode="bilinear")
        m = model([sample], "x:f32[1,1,2,2] g:f32[1,1,2,2]", "y:f32[1,1,1,2]", opset=16)
        check.values(m, {"x": x, "g": grid}, {"y": f32([[[y]]])})


@case("KB055-nms-default-max-boxes")
def nms_default_max_boxes(check):
    """Without max_output_boxes_per_class NonMaxSuppression selects nothing."""
    m = model([node("NonMaxSuppression", "b s", "y")], "b:f32[1,3,4] s:f32[1,1,3]", "y:i64[K,3]", opset=11)
    feeds = {"b": f32(np.arange(12).reshape(1, 3, 4)), "s": f32([[[0.9, 0.8, 0.7]]])}
    check.values(m, feeds, {"y": np.zeros((0, 3), np.int64)})


@case("KB060-layernorm-axis-and-outputs")
def layernorm_axis_and_outputs(check):
    """LayerNormalization over the last two axes, with all three outputs."""
    x = f32([[[1, 3], [5, 7]], [[2, 2], [6, 6]]])
    m = model(
        [node("LayerNormalization", "x s b", "y m v", axis=1, epsilon=0.0)], "x:f32[2,2,2]",
        "y:f32[2,2,2] m:f32[2,1,1] v:f32[2,1,1]",
        {"s": f32([[1, 2], [3, 4]]), "b": f32([[0, 0], [1, 1]])}, opset=17,
    )  # fmt: skip
    y = f32([[[-1.3416408, -0.8944272], [2.3416408, 6.3665631]], [[-1, -2], [4, 5]]])
    expected = {"y": y, "m": f32([4, 4]).reshape(2, 1, 1), "v": f32([0.4472136, 0.5]).reshape(2, 1, 1)}
    check.values(m, {"x": x}, expected)


@case("KB061-groupnorm-18-vs-21")
def groupnorm_18_vs_21(check):
    """The scale is of each group in opset 18, of each channel in opset 21."""
    x = f32([[[[1, 3]], [[5, 7]], [[2, 2]], [[6, 6]]]])
    for opset, scale, bias, y in (
        (21, [1, 2, 3, 4], [0, 0, 1, 1], [-1.3416408, -0.4472136, 0.8944272, 2.6832816, -2, -2, 5, 5]),
        (18, [1, 2], [0, 1], [-1.3416408, -0.4472136, 0.4472136, 1.3416408, -1, -1, 3, 3]),
    ):
        m = model(
            [node("GroupNormalization", "x s b", "y", num_groups=2, epsilon=0.0)], "x:f32[1,4,1,2]", "y:f32[1,4,1,2]",
            {"s": f32(scale), "b": f32(bias)}, opset=opset,
        )  # fmt: skip
        check.values(m, {"x": x}, {"y": f32(y).reshape(1, 4, 1, 2)})
    m = model(
        [node("GroupNormalization", "x s b", "y", num_groups=2)], "x:f32[1,4,1,2]", "y:f32[1,4,1,2]",
        {"s": f32([1, 2]), "b": f32([0, 1])}, opset=21,
    )  # fmt: skip
    check.error(m, "GroupNormalization", codes=(INVALID, REFUSED))


@case("KB062-batchnorm-training")
def batchnorm_training(check):
    """Batch statistics in training mode alone, with the population's variance."""
    x = f32([[[1, 3]], [[5, -1]]])
    constants = {"s": f32([1]), "b": f32([10]), "m": f32([1]), "v": f32([4])}
    norm = node("BatchNormalization", "x s b m v", "y", epsilon=0.0)
    m = model([norm], "x:f32[2,1,2]", "y:f32[2,1,2]", constants, opset=15)
    check.values(m, {"x": x}, {"y": f32([[[10, 11]], [[12, 9]]])})
    norm = node("BatchNormalization", "x s b m v", "y rm rv", epsilon=0.0, training_mode=1, momentum=0.9)
    m = model([norm], "x:f32[2,1,2]", "y:f32[2,1,2] rm:f32[1] rv:f32[1]", constants, opset=15)
    y = (x - 2) / np.sqrt(f32(5)) + 10
    check.values(m, {"x": x}, {"y": y, "rm": f32([1.1]), "rv": f32([4.1])})


def attention(check, y, mask=None, **attributes):
    operands = "q k v" + (" m" if mask is not None else "")
    m = model(
        [node("Attention", operands, "y", **attributes)], "q:f32[1,1,1,1] k:f32[1,1,2,1] v:f32[1,1,2,1]",
        "y:f32[1,1,1,1]", {"m": mask} if mask is not None else None, opset=23,
    )  # fmt: skip
    feeds = {"q": f32([[[[1]]]]), "k": np.zeros((1, 1, 2, 1), np.float32), "v": f32([[[[10], [20]]]])}
    check.values(m, feeds, {"y": f32([[[[y]]]])})


@case("KB064-attention-causal-alignment")
def attention_causal_alignment(check):
    """Without a past, query i sees keys up to i."""
    attention(check, 10, is_causal=1)
    attention(check, 15)


@case("KB065-attention-fully-masked-row")
def attention_fully_masked_row(check):
    """A row of which every key is masked is 0, not NaN."""
    attention(check, 0, np.zeros((1, 2), bool))


@case("KB067-sce-weighted-mean")
def sce_weighted_mean(check):
    """The weighted mean divides by the sum of the weights."""
    m = model(
        [node("SoftmaxCrossEntropyLoss", "x l w", "y", reduction="mean")], "x:f32[2,2] l:i64[2]", "y:f32[]",
        {"w": f32([1, 3])}, opset=13,
    )  # fmt: skip
    feeds = {"x": f32([[0, 0], [np.log(3), 0]]), "l": i64([0, 1])}
    check.values(m, feeds, {"y": f32((np.log(2) + 3 * np.log(4)) / 4)})


@case("KB068-gru-linear-before-reset")
def gru_linear_before_reset(check):
    """On which side of the recurrent product the reset gate is."""
    w = f32([0, 0, 1]).reshape(1, 3, 1)
    constants = {"w": w, "r": w, "b": f32([[0, 0, 0, 0, 0, 1]]), "h": f32([[[2]]])}
    for linear, y in ((0, 1.4975274), (1, 1.4933071)):
        gru = node("GRU", "x w r b _ h", "_ y", hidden_size=1, linear_before_reset=linear)
        m = model([gru], "x:f32[1,1,1]", "y:f32[1,1,1]", constants, opset=14)
        check.values(m, {"x": f32([[[1]]])}, {"y": f32([[[y]]])})


@case("KB070-rnn-layout-1")
def rnn_layout_1(check):
    """Batch first, or an error that names the attribute. (Identity activation: running sums.)"""
    x = f32([[[1], [2], [3]], [[10], [20], [30]]])
    one = {"w": f32([[[1]]]), "r": f32([[[1]]])}
    rnn = node("RNN", "x w r", "y h", hidden_size=1, layout=1, activations=["Affine"],
               activation_alpha=[1.0], activation_beta=[0.0])  # fmt: skip
    m = model([rnn], "x:f32[2,3,1]", "y:f32[2,3,1,1] h:f32[2,1,1]", one, opset=14)
    expected = {"y": f32([1, 3, 6, 10, 30, 60]).reshape(2, 3, 1, 1), "h": f32([6, 60]).reshape(2, 1, 1)}
    check.values_or_error(m, {"x": x}, expected, ("layout", "activation"))
    rnn = node("RNN", "x w r", "y h", hidden_size=1, layout=1, activations=["Relu"])
    m = model([rnn], "x:f32[2,3,1]", "y:f32[2,3,1,1] h:f32[2,1,1]", one, opset=14)
    check.values_or_error(m, {"x": x}, expected, "layout")
