# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: models that are wrong, or built to do harm. Each gets one clear error that names the culprit."""
import os

import numpy as np
from harness import *  # noqa: F403
from numerics import f32, i64


def external(location, entries=(), dims=(4,)):
    """Add(x, w) with w in another file."""
    w = onnx.TensorProto(name="w", data_type=F32, dims=dims, data_location=onnx.TensorProto.EXTERNAL)
    for key, text in [("location", location), *entries]:
        w.external_data.add(key=key, value=text)
    return model([node("Add", "x w", "y")], "x:f32[4]", "y:f32[4]", [w])


@case("KB090-external-data-traversal")
def external_data_traversal(check):
    """External data stays in the model's folder, and is a regular file."""
    outside = check.folder / "secret.bin"
    outside.write_bytes(bytes(16))
    inside = check.folder / "in"
    (inside / "sub").mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (inside / "dirlink").symlink_to(check.folder)
    os.mkfifo(inside / "fifo")
    locations = ["../secret.bin", "/etc/passwd", "sub/../../secret.bin", "link", "dirlink/secret.bin", "fifo", "sub"]
    for location in locations:
        path = check.save(external(location), inside / "model.onnx")
        check.error(path, "'w'", location, codes=(INVALID, REFUSED, FILE))
    path = check.save(external(""), inside / "model.onnx")
    check.error(path, "'w'", "location", codes=(INVALID, REFUSED, FILE))
    path = check.save(external("/dev/zero"), inside / "model.onnx")
    check.error(path, "'w'", "/dev/zero", codes=(INVALID, REFUSED, FILE))


@case("KB091-external-data-bounds")
def external_data_bounds(check):
    """Offset and length lie inside the file, and fit the dimensions."""
    (check.folder / "w.bin").write_bytes(f32([1, 2, 3, 4]).tobytes())
    bad = [
        [("offset", "18446744073709551600"), ("length", "32")],
        [("offset", "16"), ("length", "16")],
        [("offset", "9223372036854775807"), ("length", "16")],
        [("offset", "-1")],
        [("length", "-16")],
        [("length", "8")],
        [("length", "32")],
        [("offset", "abc")],
        [("offset", "4096"), ("length", "16")],
        [("offset", "99999999999999999999999999")],
    ]
    for entries in bad:
        check.error(external("w.bin", entries), "'w'", codes=(INVALID, FILE))
    check.error(external("gone.bin"), "'w'", "gone.bin", codes=(INVALID, FILE))
    check.error(external("w.bin", dims=[2**40, 2**40]), "'w'", codes=(INVALID,))
    good = check.compile(external("w.bin", [("offset", "0"), ("length", "16")]))
    good.expect({"x": f32([1, 1, 1, 1])}, {"y": f32([2, 3, 4, 5])})


@case("KB092-raw-data-too-short")
def raw_data_too_short(check):
    """A payload is as long as its dimensions say; the error names both sizes."""
    proto = onnx.TensorProto
    for w, kind, shape, words in (
        (proto(name="w", data_type=I8, dims=[128], raw_data=b""), "i8", "128", ["128", ("0", "no data")]),
        (proto(name="w", data_type=F32, dims=[1000000], raw_data=bytes(4)), "f32", "1000000", ["4000000", "4"]),
        (proto(name="w", data_type=F32, dims=[3], raw_data=bytes(13)), "f32", "3", ["12", "13"]),
        (proto(name="w", data_type=F16, dims=[32], int32_data=[1, 2, 3, 4]), "f16", "32", ["32", "4"]),
        (proto(name="w", data_type=F32, dims=[2], float_data=[1, 2], raw_data=bytes(8)), "f32", "2", []),
        (proto(name="w", data_type=F32, dims=[3], float_data=[1, 2]), "f32", "3", ["3", "2"]),
        (proto(name="w", data_type=F32, dims=[-3], raw_data=bytes(12)), "f32", "3", ["-3"]),
        (proto(name="w", data_type=F32, dims=[2**33, 2**33], raw_data=bytes(4)), "f32", "3", []),
    ):
        m = model([node("Add", "x w", "y")], f"x:{kind}[{shape}]", f"y:{kind}[{shape}]", [w])
        check.error(m, "w", *words)


@case("KB096-rank-mismatch-conv-gemm")
def rank_mismatch_conv_gemm(check):
    """Operands of the wrong rank or size: an error that names the node."""
    conv = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    biased = helper.make_node("Conv", ["x", "w", "b"], ["y"], name="biased")
    gemm = helper.make_node("Gemm", ["a", "b"], ["y"], name="gemm", transB=823)
    einsum = helper.make_node("Einsum", ["a", "b"], ["y"], name="einsum", equation="ij,jk,kl->il")
    for m, name in (
        (model([conv], "x:f32[7,6,1,5] w:f32[]", "y:f32", opset=11), "conv"),
        (model([conv], "x:f32[7,6,1,5]", "y:f32", {"w": f32(1)}, opset=11), "conv"),
        (model([conv], "x:f32[1,2,4,4] w:f32[2,2,1,1,1]", "y:f32", opset=11), "conv"),
        (model([conv], "x:f32[1,32,1,1] w:f32[32,16,1,1]", "y:f32", opset=11), "conv"),
        (model([biased], "x:f32[1,32,1,1] w:f32[32,32,1,1] b:f32[1]", "y:f32", opset=11), "biased"),
        (model([gemm], "a:f32[2,1] b:f32[]", "y:f32", opset=11), "gemm"),
        (model([einsum], "a:f32[2,2] b:f32[2,2]", "y:f32", opset=13), "einsum"),
    ):
        check.error(m, name, codes=(INVALID, REFUSED))
    gemm = helper.make_node("Gemm", ["a", "b", "c"], ["y"], name="gemm", transB=823)
    m = model([gemm], "a:f32[2,1] b:f32[] c:f32[1]", "y:f32", opset=6)
    check.error(m, ("gemm", "opset 6"), codes=(INVALID, REFUSED))


@case("KB097-bad-types")
def bad_types(check):
    """An element type that is missing or does not exist: the error names the value."""

    def relu(change):
        m = model([helper.make_node("Relu", ["xin"], ["y"], name="relu")], "xin:f32[2]", "y:f32[2]")
        change(m.graph)
        return m

    check.error(relu(lambda g: g.input[0].ClearField("type")), "xin")
    for wrong in (0, 99, -1):
        check.error(relu(lambda g: setattr(g.input[0].type.tensor_type, "elem_type", wrong)), "xin")
    sequence = helper.make_tensor_sequence_value_info("xin", F32, [2])
    add = model([node("Add", "xin xin", "y")], [sequence], "y:f32[2]")
    check.error(add, "xin", codes=(INVALID, REFUSED))
    w = onnx.TensorProto(name="weight", data_type=250, dims=[2], raw_data=bytes(8))
    check.error(model([node("Add", "xin weight", "y")], "xin:f32[2]", "y:f32[2]", [w]), "weight")
    m = model([helper.make_node("Transpose", ["xin"], ["y"], name="t", perm=[1, 0])], "xin:f32[2,2]", "y:f32[2,2]")
    attribute = m.graph.node[0].attribute[0]
    del attribute.ints[:]
    attribute.f = 1.0
    check.error(m, "perm")


@case("KB099-bad-references")
def bad_references(check):
    """Undefined, duplicate, cyclic; and nodes in the wrong order, which Kiln may sort."""

    def two(*nodes):
        return model(list(nodes), "x:f32[2,2]", "y:f32[2,2]")

    make = helper.make_node
    check.error(two(make("Add", ["x", "ghost"], ["y"], name="adder")), "ghost", "adder")
    check.error(two(make("Relu", ["x"], ["y"], name="one"), make("Neg", ["x"], ["y"], name="two")), "'y'")
    check.error(two(make("Add", ["b", "x"], ["y"], name="adder"), make("Neg", ["y"], ["b"], name="neg")), "cycle")
    unsorted = two(make("Add", ["t", "x"], ["y"], name="adder"), make("MatMul", ["x", "x"], ["t"], name="mm"))
    x = f32([[1, 2], [3, 4]])
    check.values_or_error(unsorted, {"x": x}, {"y": x @ x + x}, "'t'")
    m = model([node("Relu", "x", "y")], "x:f32[2] x:f32[2]", "y:f32[2]")
    check.error(m, "'x'")
    m = model([node("Relu", "x", "y")], "x:f32[2]", "nothing:f32[2]")
    check.error(m, "nothing")


@case("KB100-unknown-op-opset-attr")
def unknown_op_opset_attr(check):
    """Operators, domains, versions and attributes that do not exist."""

    def relu(opset=17, **changes):
        return model([node("Relu", "x", "y")], "x:f32[2]", "y:f32[2]", opset=opset, **changes)

    both = (INVALID, REFUSED)
    check.error(model([node("ReverseV2", "x", "y")], "x:f32[2]", "y:f32[2]"), "ReverseV2", "17", codes=both)
    m = model([node("Foo", "x", "y", domain="com.acme")], "x:f32[2]", "y:f32[2]")
    check.error(m, "com.acme", codes=both)
    m = relu()
    del m.opset_import[:]
    check.error(m, "opset", codes=both)
    check.error(relu(9999), "9999", codes=both)
    check.error(relu(0), "0", codes=both)
    m = relu()
    m.opset_import.add(domain="", version=13)
    check.error(m, "13", "17", codes=both)
    nms = node("NonMaxSuppression", "b s", "y", max_output_boxes_per_class=3)
    m = model([nms], "b:f32[1,3,4] s:f32[1,1,3]", "y:i64[K,3]", opset=11)
    check.error(m, "max_output_boxes_per_class", codes=both)
    check.error(model([node("Relu", "x x", "y")], "x:f32[2]", "y:f32[2]"), "Relu", codes=both)
    m = relu()
    m.ir_version = 999
    check.error(m, "999", codes=both)
    # All unsupported operators are reported at once.
    nodes = [node("NoSuchOne", "x", "t"), node("NoSuchTwo", "t", "y")]
    check.error(model(nodes, "x:f32[2]", "y:f32[2]"), "NoSuchOne", "NoSuchTwo", codes=both)


@case("damaged-files")
def files(check):
    """What is no model at all: empty, text, cut short, random; a folder, no file, a device."""
    m = model([node("Add", "x w", "y")], "x:f32[64]", "y:f32[64]", {"w": np.arange(64, dtype=np.float32)})
    good = m.SerializeToString()
    check.error(b"", "empty")
    check.error(b"This is a text, not a model.\n" * 20)
    check.error(good[: len(good) // 2], "trunc")
    check.error(good[:-1], "trunc")
    rng = np.random.default_rng(7)
    for _ in range(8):
        check.error(rng.bytes(512))
    check.error(check.folder, codes=(FILE,))
    check.error(check.folder / "gone.onnx", "gone.onnx", codes=(FILE,))
    check.error("/dev/null", codes=(INVALID, FILE))
    # Any byte changed: an error or a model, but no crash.
    for _ in range(40):
        broken = bytearray(good)
        for position in rng.integers(0, len(good) - 256, 2):
            broken[position] = rng.integers(256)
        process, _ = check.try_compile(bytes(broken))
        if process.status not in (0, INVALID, REFUSED, FILE):
            raise Wrong(f"kilnc: {process.ending} on a damaged model: {check.message(process)}")
