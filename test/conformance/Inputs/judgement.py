# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every ending of kilnc and kiln-run, and what the conformance runner makes of it."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pipeline  # noqa: E402
import report  # noqa: E402
from dynamic import make_dynamic  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

DOCUMENT = """echo '{"diagnostics": [{"code": "K205", "severity": "error", "message": "operator Foo is not supported",
 "op": {"type": "Foo"}}]}' >&2"""
WRITE = 'while [ "$1" != -o ]; do shift; done; : > "$2"'
EQUAL = "echo \"output 'y': equal within tolerance\""
WRONG = "echo \"output 'y': 2 of 6 elements out of tolerance\"; echo '  worst at [0, 1]: got 1, expected 2'; exit 1"


class Judgement(unittest.TestCase):
    def run_with(self, kilnc, kiln_run=EQUAL, sets=1, outputs=1):
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            (build / "bin").mkdir()
            for name, script in (("kilnc", kilnc), ("kiln-run", kiln_run)):
                (build / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
                (build / "bin" / name).chmod(0o755)
            runner = pipeline.Pipeline(build, build, build / "logs", build)
            test = {"name": "t", "sets": sets, "outputs": outputs, "rtol": 1e-3, "atol": 1e-7, "random": False}
            result = runner.run(test, "static")
            self.assertEqual(bool(result.log), result.outcome == "fail")
            self.assertEqual(list(build.glob("*.so")), [])
            return result.outcome, result.reason

    def check(self, outcome, words, *args, **options):
        got, reason = self.run_with(*args, **options)
        self.assertEqual(got, outcome, reason)
        self.assertIn(words, reason)

    def test_pass(self):
        self.check("pass", "", WRITE)

    def test_refused(self):
        self.check("refused", "Foo is not supported", f"{DOCUMENT}; exit 3")

    def test_refused_without_a_document(self):
        self.check("fail", "exit code 3", "exit 3")

    def test_refused_with_an_artefact(self):
        self.check("fail", "and yet an artefact", f"{DOCUMENT}; {WRITE}; exit 3")

    def test_invalid_and_internal(self):
        self.check("fail", "exit code 1: K205", f"{DOCUMENT}; exit 1")
        self.check("fail", "exit code 70: oh", "echo oh >&2; exit 70")

    def test_crash(self):
        self.check("fail", "died of SIGSEGV", "kill -SEGV $$")
        self.check("fail", "died of SIGABRT", WRITE, "kill -ABRT $$")

    def test_no_artefact(self):
        self.check("fail", "no artefact", "exit 0")

    def test_too_slow(self):
        before, pipeline.TIMEOUT = pipeline.TIMEOUT, 0.3
        try:
            self.check("fail", "ran longer than", "sleep 20")
        finally:
            pipeline.TIMEOUT = before

    def test_wrong_value(self):
        self.check("fail", "2 of 6 elements out of tolerance; worst at [0, 1]", WRITE, WRONG)

    def test_run_refuses(self):
        self.check("fail", "exit code 3: shape", WRITE, "echo shape >&2; exit 3")

    def test_compares_nothing(self):
        self.check("fail", "fewer outputs", WRITE, "exit 0")
        self.check("fail", "fewer outputs", WRITE, EQUAL, outputs=2)

    def test_all_sets_run(self):
        second = f'case "$*" in *set_1*) exit 1;; *) {EQUAL};; esac'
        self.check("pass", "", WRITE, second)
        self.check("fail", "exit code 1", WRITE, second, sets=2)


class Reasons(unittest.TestCase):
    def test_generic(self):
        one = report.generic("K205: input 'a' has 3 of 4; worst at [1]: got 1")
        self.assertEqual(one, report.generic("K205: input 'b' has 7 of 8; worst at [0]: got 5"))
        self.assertIn("K205", one)


class Dynamic(unittest.TestCase):
    def make(self, op, inputs, constants=()):
        values = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
        node = helper.make_node(op, [v.name for v in values], ["y"])
        return make_dynamic(helper.make_model(helper.make_graph([node], "g", values, [y], list(constants))))

    def dims(self, value):
        return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]

    def test_every_dimension_has_a_name(self):
        graph = self.make("Add", [("a", 1, [2, 3]), ("b", 1, [3])]).graph
        self.assertEqual([self.dims(v) for v in graph.input], [["n0_0", "n0_1"], ["n1_0"]])
        self.assertEqual(self.dims(graph.output[0]), [0, 0])

    def test_what_decides_a_rank_stays(self):
        graph = self.make("Reshape", [("a", 1, [6]), ("s", 7, [2])]).graph
        self.assertEqual([self.dims(v) for v in graph.input], [["n0_0"], [2]])

    def test_initializers_stay(self):
        b = helper.make_tensor("b", 1, [3], [1, 2, 3])
        graph = self.make("Add", [("a", 1, [2, 3]), ("b", 1, [3])], [b]).graph
        self.assertEqual([self.dims(v) for v in graph.input], [["n0_0", "n0_1"], [3]])

    def test_nothing_to_name(self):
        self.assertIsNone(self.make("Add", [("a", 1, []), ("b", 1, [])]))


if __name__ == "__main__":
    unittest.main()
