# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a case is written with: models out of onnx.helper, checks through kilnc and kiln-run."""
import inspect
import itertools
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance"))
from dynamic import make_dynamic  # noqa: E402
from pipeline import Process, diagnostics  # noqa: E402

INVALID, USAGE, REFUSED, FILE = 1, 2, 3, 4
F32, F16, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
I64, I32, I8, U8, BOOL = (
    TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL,
)  # fmt: skip
INT64_MAX = 2**63 - 1
CASES = {}


def case(identity):
    """Registers a function that gets a Check; its text is the case's title."""

    def register(function):
        assert identity not in CASES, identity
        CASES[identity] = function
        return function

    return register


class Wrong(Exception):
    """A check that did not hold: the case fails."""


class Unsupported(Exception):
    """kilnc refused a model that the case needs."""


def node(op, inputs, outputs, domain="", **attributes):
    split = lambda names: names.split() if isinstance(names, str) else names  # noqa: E731
    # '_' in a text stands for an operand that is left out.
    names = [["" if n == "_" else n for n in split(side)] for side in (inputs, outputs)]
    return helper.make_node(op, *names, domain=domain, **attributes)


def tensor(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


TYPES = {"f32": F32, "f16": F16, "bf16": BF16, "f64": TensorProto.DOUBLE, "i64": I64, "i32": I32, "i8": I8, "u8": U8}
TYPES["bool"] = BOOL


def values_of(texts):
    """Value infos of "x:f32[N,2] y:i64[]"; without brackets the shape is unknown."""
    infos = []
    for text in texts.split():
        name, kind = text.split(":")
        dtype, _, dims = kind.rstrip("]").partition("[")
        shape = None
        if "[" in kind:
            shape = [int(d) if d.lstrip("-").isdigit() else d for d in dims.split(",") if d]
        infos.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))
    return infos


def model(nodes, inputs, outputs, constants=None, opset=17, ir=None, functions=(), imports=()):
    """A model; `constants` is {name: array} or a list of TensorProto, inputs and outputs are as in values_of."""
    if isinstance(constants, dict):
        constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    inputs, outputs = (values_of(v) if isinstance(v, str) else v for v in (inputs, outputs))
    graph = helper.make_graph(nodes, "case", inputs, outputs, constants or [])
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(*pair) for pair in imports]
    result = helper.make_model(graph, opset_imports=opsets, functions=functions)
    result.ir_version = ir or (8 if opset < 19 else 10)
    return result


def fold_inputs(proto, feeds):
    """The model with its inputs as constants: the compiler computes what the run would."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    del result.graph.input[:]
    for name, array in feeds.items():
        result.graph.initializer.append(numpy_helper.from_array(array, name))
    return result


def equal(got, expected, rtol, atol):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "biu":
        return np.array_equal(got, expected)
    with np.errstate(invalid="ignore"):
        return np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True)


def short(array):
    return f"{array.dtype}{list(array.shape)} {np.array2string(array, threshold=16, separator=',')}".replace("\n", "")


class Artefact:
    def __init__(self, check, path):
        self.check, self.path = check, path

    def try_run(self, feeds, *options, threads=1):
        """(process, outputs by name) of one run."""
        folder = self.check.fresh("run")
        folder.mkdir()
        command = [self.check.kiln_run, self.path, "--threads", str(threads), *options]
        for index, (name, array) in enumerate(feeds.items()):
            if isinstance(array, TensorProto):
                path = folder / f"{index}.pb"
                path.write_bytes(array.SerializeToString())
            else:
                path = folder / f"{index}.npy"
                np.save(path, array)
            command.append(f"--input={name}={path}")
        process = self.check.process(command + ["--output-dir", folder / "out"])
        outputs = {path.stem: np.load(path) for path in (folder / "out").glob("*.npy")}
        return process, outputs

    def run(self, feeds, *options, threads=1):
        """The outputs; anything but exit code 0 is wrong."""
        process, outputs = self.try_run(feeds, *options, threads=threads)
        if process.status != 0:
            raise Wrong(f"kiln-run: {process.ending}: {process.first_line()}")
        return outputs

    def expect(self, feeds, expected, rtol=1e-5, atol=1e-7, what="", threads=1):
        outputs = self.run(feeds, threads=threads)
        for name, array in expected.items():
            if name not in outputs:
                raise Wrong(f"{what}no output '{name}', only {sorted(outputs)}")
            if not equal(outputs[name], array, rtol, atol):
                raise Wrong(f"{what}{name} is {short(outputs[name])}, expected {short(array)}")

    def expect_error(self, feeds, *words):
        """The run must end with one clear error: the contract's exit code and a word."""
        process, _ = self.try_run(feeds)
        self.check.judge_error(process, {2, 3, 4, 5}, words, "kiln-run")


class Check:
    """One case being run: its folder, its programs, and what they said."""

    def __init__(self, build, folder, driver):
        self.folder, self.driver = folder, driver
        self.kilnc, self.kiln_run = build / "bin/kilnc", build / "bin/kiln-run"
        self.said, self.numbers = [], itertools.count()

    def fresh(self, stem, suffix=""):
        return self.folder / f"{stem}{next(self.numbers)}{suffix}"

    def process(self, command, **options):
        process = Process(command, **options)
        self.said.append(process.text())
        return process

    def save(self, proto, path=None):
        path = path or self.fresh("model", ".onnx")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
        return path

    def try_compile(self, source, *options):
        """(process, artefact) of a model, its bytes, or its path."""
        path = source if isinstance(source, (Path, str)) else self.save(source)
        artefact = self.fresh("model", ".so")
        process = self.process([self.kilnc, path, "-o", artefact, "-j", "1", "--json-diagnostics", *options])
        if (process.status == 0) != artefact.exists():
            raise Wrong(f"kilnc: {process.ending}, and {'an' if artefact.exists() else 'no'} artefact")
        return process, Artefact(self, artefact)

    def compile(self, source, *options):
        process, artefact = self.try_compile(source, *options)
        if process.status == REFUSED:
            raise Unsupported(self.message(process))
        if process.status != 0:
            raise Wrong(f"kilnc: {process.ending}: {self.message(process)}")
        return artefact

    @staticmethod
    def message(process):
        errors = diagnostics(process)
        if errors:
            return "; ".join(f"{d['code']}: {d['message']}" for d in errors)
        return process.first_line()

    def drive(self, name, *artefacts):
        """A case of deploy.c with these artefacts."""
        process = self.process([self.driver, name, *(artefact.path for artefact in artefacts)])
        if process.status != 0:
            raise Wrong(f"deploy {name}: {process.ending}: {process.first_line()}")

    def measure(self, command):
        """(seconds, peak bytes) of a command that must succeed."""
        start = time.monotonic()
        out = self.folder / "usage.txt"
        script = "import resource,subprocess,sys; r=subprocess.call(sys.argv[2:]); "
        script += "open(sys.argv[1],'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(r)"
        process = self.process([sys.executable, "-c", script, out, *command], timeout=180)
        if process.status != 0:
            raise Wrong(f"{process.ending}: {process.first_line()}")
        return time.monotonic() - start, int(out.read_text()) * 1024

    def judge_error(self, process, codes, words, program):
        errors = diagnostics(process)
        text = process.err + process.out
        if errors:  # without paths, which say everything
            parts = ([d["message"], *d["nodes"], *d["notes"], d.get("supported", "")] for d in errors)
            text = "\n".join(part for group in parts for part in group)
        if process.status not in codes:
            raise Wrong(f"{program}: {process.ending}, expected {sorted(codes)}: {self.message(process)[:300]}")
        for word in words:
            # A tuple is a choice of words.
            choice = word if isinstance(word, tuple) else (word,)
            if not any(w.lower() in text.lower() for w in choice):
                raise Wrong(f"{program}: the error does not say '{' or '.join(choice)}': {self.message(process)[:300]}")

    def error(self, source, *words, codes=(INVALID,), options=()):
        """kilnc must say one clear error, promptly, and leave nothing behind."""
        start = time.monotonic()
        before = set(os.listdir(self.folder))
        process, _ = self.try_compile(source, *options)
        self.judge_error(process, set(codes), words, "kilnc")
        if diagnostics(process) is None:
            raise Wrong("kilnc: the error is no JSON document")
        left = [n for n in set(os.listdir(self.folder)) - before if not n.endswith(".onnx")]
        if left:
            raise Wrong(f"kilnc left behind: {left}")
        if time.monotonic() - start > 20:
            raise Wrong(f"kilnc took {time.monotonic() - start:.0f} s to say so")

    def values(self, proto, feeds, expected, rtol=1e-5, atol=1e-7, ways="fed O0 folded dynamic"):
        """The same answer however the model comes: inputs fed (optimized or not), folded, with symbolic dimensions.

        Symbolic dimensions may be refused, the others not.
        """
        feeds = {name: np.asarray(array) for name, array in feeds.items()}
        expected = {name: np.asarray(array) for name, array in expected.items()}
        for way in ways.split():
            source, inputs, options = proto, feeds, []
            if way == "O0":
                options = ["-O0"]
            elif way == "folded":
                if not feeds:
                    continue
                source, inputs = fold_inputs(proto, feeds), {}
            elif way == "dynamic":
                source = make_dynamic(proto)
                if source is None:
                    continue
            try:
                artefact = self.compile(source, *options)
            except Unsupported:
                if way == "dynamic":
                    continue
                raise
            except Wrong as wrong:
                raise Wrong(f"{way}: {wrong}") from None
            artefact.expect(inputs, expected, rtol, atol, f"{way}: ")

    def values_or_error(self, proto, feeds, expected, *words, **limits):
        """Where the operators' text leaves it open: the value, or a clear error that says a word."""
        process, _ = self.try_compile(proto)
        errors = diagnostics(process)
        if process.status == REFUSED and errors and all(d["name"] == "UnsupportedOperator" for d in errors):
            raise Unsupported(self.message(process))
        if process.status in (INVALID, REFUSED):
            self.judge_error(process, {INVALID, REFUSED}, words, "kilnc")
        else:
            self.values(proto, feeds, expected, **limits)


def title(function):
    return inspect.getdoc(function) or ""


def report_json(path, results):
    failures = [identity for identity, outcome, _ in results if outcome != "pass"]
    document = {"pass": len(results) - len(failures), "refused": 0, "fail": len(failures), "failures": failures}
    document["results"] = [dict(zip(("name", "outcome", "reason"), r)) for r in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
