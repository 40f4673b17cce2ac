# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reported cases: artefacts in programs, folders and processes of all kinds. deploy.c is the program."""
import json
import os
import shutil
import stat

import numpy as np
from harness import *  # noqa: F403
from numerics import f32


def line_model():
    nodes = [node("Mul", "x two", "t"), node("Add", "t one", "y")]
    return model(nodes, "x:f32[1000]", "y:f32[1000]", {"two": f32(2), "one": f32(1)})


@case("KB103-parallel-runs")
def parallel_runs(check):
    """Eight threads, each its own inputs, 2,000 runs."""
    w = (np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 17 - 8) / 8
    nodes = [node("MatMul", "x w", "t"), node("Softmax", "t", "y")]
    check.drive("threads", check.compile(model(nodes, "x:f32[4,64]", "y:f32[4,64]", {"w": w})))


@case("KB106-thread-pool-shared")
def thread_pool_shared(check):
    """Two models in one process, each with work for threads."""
    artefacts = [
        check.compile(model([node("Add", "x c", "y")], "x:f32[2048,2048]", "y:f32[2048,2048]", {"c": f32(c)}))
        for c in (1, 2)
    ]
    check.drive("two-models", *artefacts)


@case("KB107-dlclose-cycles")
def dlclose_cycles(check):
    """Open, run, close 200 times; the same file twice."""
    check.drive("reopen", check.compile(line_model()))


@case("KB108-fork-after-run")
def fork_after_run(check):
    """Children of a process that has run go on running."""
    check.drive("fork", check.compile(line_model()))


@case("KB109-one-core-cpuset")
def one_core_cpuset(check):
    """One allowed core, and odd numbers of threads."""
    m = model(
        [node("Conv", "x w", "y")], "x:f32[1,3,5,5]", "y:f32[1,1,3,3]", {"w": np.ones((1, 3, 3, 3), np.float32)}, opset=11
    )
    artefact = check.compile(m)
    feeds = {"x": np.full((1, 3, 5, 5), 10, np.float32)}
    y = np.full((1, 1, 3, 3), 270, np.float32)
    for threads in (1, 2, 0, 1000):
        process, outputs = artefact.try_run(feeds, threads=threads)
        if process.status == 0 and not np.array_equal(outputs["y"], y):
            raise Wrong(f"{threads} threads: {short(outputs['y'])}")
        if process.status:
            check.judge_error(process, {2}, ["threads"], "kiln-run")
    process, _ = artefact.try_run(feeds, threads=-1)
    check.judge_error(process, {0, 2}, [], "kiln-run")
    core = min(os.sched_getaffinity(0))
    data = check.folder / "x.npy"
    np.save(data, feeds["x"])
    for prefix in (["taskset", "-c", str(core)],):
        out = check.fresh("one")
        process = check.process([*prefix, check.kiln_run, artefact.path, f"--input=x={data}", "--output-dir", out])
        if process.status or not np.array_equal(np.load(out / "y.npy"), y):
            raise Wrong(f"on one core: {process.ending}: {process.first_line()}")
        compiled = check.fresh("one", ".so")
        process = check.process([*prefix, check.kilnc, check.save(m), "-o", compiled])
        if process.status:
            raise Wrong(f"kilnc on one core: {process.ending}")


@case("KB110-unaligned-pointers")
def unaligned_pointers(check):
    """Buffers at any address, and constants at any offset of the file."""
    check.drive("pointers", check.compile(line_model()))
    values = np.arange(100, dtype=np.int64) * 12345678901
    for pad in range(8):
        m = model([node("Add", "x k", "y")], "x:i64[100]", "y:i64[100]", {"k": values})
        m.doc_string = "p" * pad
        m.graph.doc_string = "q" * pad
        check.compile(m).expect({"x": values}, {"y": 2 * values}, what=f"offset {pad}: ")


@case("KB111-noncontiguous-inputs")
def noncontiguous_inputs(check):
    """Transposed, reversed and broadcast views."""
    check.drive("strides", check.compile(model([node("Add", "x z", "y")], "x:f32[2,3]", "y:f32[2,3]", {"z": f32(0)})))


def softmax_of_identity(batch):
    nodes = [node("MatMul", "x i", "t"), node("Add", "t z", "u"), node("Softmax", "u", "y", axis=-1)]
    constants = {"i": np.eye(2, dtype=np.float32), "z": f32([0, 0])}
    return model(nodes, f"x:f32[{batch},2]", f"y:f32[{batch},2]", constants, opset=13)


@case("KB112-batch-size-change")
def batch_size_change(check):
    """One process runs several batch sizes, also none; a fixed one is enforced."""
    fixed = check.compile(softmax_of_identity(1))
    check.drive("batch", check.compile(softmax_of_identity("N")), fixed)
    fixed.expect_error({"x": np.zeros((3, 2), np.float32)}, "3")


@case("KB113-signature-symbolic-dims")
def signature_symbolic_dims(check):
    """The signature keeps names; sizes of one name agree."""
    m = model([node("MatMul", "x w", "y")], "x:f32[B,T,4]", "y:f32[B,T,1]", {"w": np.ones((4, 1), np.float32)})
    artefact = check.compile(m)
    process = check.process([check.kiln_run, artefact.path, "--info", "--json", "-"])
    info = json.loads(process.out[process.out.index("{") :])["model"]
    texts = {side: [[dim["text"] for dim in spec["dims"]] for spec in info[side]] for side in ("inputs", "outputs")}
    if texts != {"inputs": [["B", "T", "4"]], "outputs": [["B", "T", "1"]]}:
        raise Wrong(f"the signature is {texts}")
    symbols = [dim.get("symbol") for dim in info["inputs"][0]["dims"]]
    if symbols != ["B", "T", None]:
        raise Wrong(f"the symbols are {symbols}")
    artefact.expect({"x": np.ones((2, 5, 4), np.float32)}, {"y": np.full((2, 5, 1), 4, np.float32)})
    m = model([node("Add", "a b", "y")], "a:f32[B,2] b:f32[B,2]", "y:f32[B,2]")
    artefact = check.compile(m)
    ones = np.ones((3, 2), np.float32)
    artefact.expect({"a": ones, "b": ones}, {"y": 2 * ones})
    artefact.expect_error({"a": ones, "b": ones[:1]}, "B")
    # Wrong rank, type, number and name of inputs.
    artefact.expect_error({"a": ones, "b": ones[0]}, "b")
    artefact.expect_error({"a": ones, "b": ones.astype(np.int64)}, "b")
    artefact.expect_error({"a": ones}, "b")
    artefact.expect_error({"a": ones, "b": ones, "c": ones}, "c")


def with_external(folder, name="w.bin"):
    (folder / name).write_bytes(f32([1, 2, 3, 4]).tobytes())
    w = onnx.TensorProto(name="w", data_type=F32, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    w.external_data.add(key="location", value=name)
    return model([node("Add", "x w", "y")], "x:f32[4]", "y:f32[4]", [w])


ONE_TO_FOUR = {"x": f32([1, 1, 1, 1])}, {"y": f32([2, 3, 4, 5])}


@case("KB114-readonly-and-cwd")
def readonly_and_cwd(check):
    """A model in a read-only folder, another current directory; a folder or a disk that cannot be written."""
    source = check.folder / "read-only"
    source.mkdir()
    path = check.save(with_external(source), source / "model.onnx")
    source.chmod(0o555)
    before = sorted(os.listdir(source))
    try:
        target = check.folder / "elsewhere"
        target.mkdir()
        artefact = target / "m.so"
        process = check.process([check.kilnc, path, "-o", artefact], cwd="/")
        if process.status:
            raise Wrong(f"kilnc: {process.ending}: {process.first_line()}")
        if sorted(os.listdir(source)) != before or sorted(os.listdir(target)) != ["m.h", "m.so"]:
            raise Wrong(f"left behind: {os.listdir(source)}, {os.listdir(target)}")
        # The artefact alone, moved: nothing beside it is needed.
        moved = check.folder / "moved.so"
        shutil.move(artefact, moved)
        moved.chmod(0o444)
        data = check.folder / "x.npy"
        np.save(data, ONE_TO_FOUR[0]["x"])
        process = check.process([check.kiln_run, moved, f"--input=x={data}", "--output-dir", check.folder / "out"], cwd="/")
        if process.status or not np.array_equal(np.load(check.folder / "out/y.npy"), ONE_TO_FOUR[1]["y"]):
            raise Wrong(f"kiln-run: {process.ending}: {process.first_line()}")
        for bad in (check.folder / "gone/m.so", check.folder / "x.npy/m.so", "/proc/m.so", "/dev/full/m.so"):
            process = check.process([check.kilnc, path, "-o", bad, "--json-diagnostics"])
            check.judge_error(process, {FILE}, [os.path.basename(os.path.dirname(bad))], "kilnc")
        if os.geteuid():
            process = check.process([check.kilnc, path, "-o", source / "m.so", "--json-diagnostics"])
            check.judge_error(process, {FILE}, ["m.so"], "kilnc")
        # A limit on the size of files, and (where a mount is allowed) a disk that is full.
        for prefix in (
            ["sh", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "sh"],
            ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=32k t "{target}" || exit 99; exec "$@"', "sh"],
        ):
            if not shutil.which(prefix[0]):
                continue
            command = [*prefix, check.kilnc, path, "-o", target / "full.so", "--json-diagnostics"]
            process = check.process(command)
            if prefix[0] == "unshare" and "{" not in process.err:
                continue
            check.judge_error(process, {FILE}, [("full.so", "too large", "space")], "kilnc")
        if os.listdir(target) != ["m.h"]:
            raise Wrong(f"a full disk leaves {os.listdir(target)}")
    finally:
        source.chmod(stat.S_IRWXU)


@case("KB115-odd-paths")
def odd_paths(check):
    """Blanks, quotes, a semicolon, other scripts, a leading dash."""
    folder = check.folder / "a 'b'c;$(x) ü 模型"
    folder.mkdir()
    path = check.save(with_external(folder, "w 'é'.bin"), folder / "m o.onnx")
    artefact = folder / "o u 't.so"
    process = check.process([check.kilnc, path, "-o", artefact])
    if process.status:
        raise Wrong(f"kilnc: {process.ending}: {process.first_line()}")
    Artefact(check, artefact).expect(*ONE_TO_FOUR)
    check.save(with_external(folder, "w.bin"), folder / "-m.onnx")
    for model_path, output in (("./-m.onnx", "-o.so"), ("-m.onnx", "./-p.so")):
        command = [check.kilnc, "-o", output] + (["--"] if model_path[0] == "-" else []) + [model_path]
        process = check.process(command, cwd=folder)
        if process.status:
            raise Wrong(f"kilnc {model_path}: {process.ending}: {process.first_line()}")
        Artefact(check, folder / output).expect(*ONE_TO_FOUR)


@case("KB117-compile-memory")
def compile_memory(check):
    """200 MB of weights in less than four times the memory; many small constants in linear time."""
    w = np.random.default_rng(1).standard_normal((7000, 7142), np.float32)
    path = check.save(model([node("MatMul", "x w", "y")], "x:f32[1,7000]", "y:f32[1,7142]", {"w": w}))
    size = path.stat().st_size
    command = [check.kilnc, path, "-o", check.fresh("large", ".so")]
    seconds, peak = check.measure(command)
    if peak > 4 * size or seconds > 60:
        raise Wrong(f"{size >> 20} MB of weights take {peak >> 20} MB and {seconds:.0f} s")
    path.unlink()
    times = []
    for count in (1000, 10000):
        nodes = [node("Add", f"v{i} c{i}", f"v{i + 1}") for i in range(count)]
        nodes[0].input[0], nodes[-1].output[0] = "x", "y"
        constants = {f"c{i}": f32([i % 7, 1]) for i in range(count)}
        many = check.save(model(nodes, "x:f32[2]", "y:f32[2]", constants))
        seconds, _ = check.measure([check.kilnc, many, "-o", check.fresh("many", ".so")])
        times.append(seconds)
    if times[1] > 20 * times[0] + 2:
        raise Wrong(f"1,000 constants take {times[0]:.1f} s, 10,000 take {times[1]:.1f} s")
