# Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package on the test model: test_kiln.py model.so. Exits with 77 without numpy."""

import gc
import os
import sys
import tempfile
import threading
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

import kiln

MODEL = sys.argv.pop(1) if len(sys.argv) > 1 else "model.so"
W = np.array([[(i + 1) * 0.125 - j * 0.5 for j in range(4)] for i in range(8)], np.float32)
BIAS = np.array([0, 1, -1, 0.5], np.float32)


def expected(x, bias=BIAS):
    return np.maximum(x @ W + bias, 0)


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.model = kiln.load(MODEL, threads=2)
        self.x = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)

    def assert_right(self, outputs, x, bias=BIAS):
        y = expected(x, bias)
        np.testing.assert_allclose(outputs["y"], y, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(outputs["z"], np.concatenate([y, 2 * y + 1]), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(outputs["positive"], np.flatnonzero(outputs["y"]))

    def test_specs(self):
        x, bias = self.model.inputs
        self.assertEqual((x.name, x.dtype, x.shape), ("x", np.float32, ("n", 8)))
        self.assertEqual((x.dims[0].lo, x.dims[0].hi, x.dims[0].symbol), (1, 64, "n"))
        self.assertTrue(bias.optional)
        self.assertEqual([spec.name for spec in self.model.outputs], ["y", "z", "positive"])
        self.assertTrue(self.model.outputs[2].late)
        self.assertEqual(self.model.threads, 2)
        self.assertIn("x: float32['n', 8]", repr(self.model))

    def test_run(self):
        outputs = self.model.run({"x": self.x})
        self.assertEqual(list(outputs), ["y", "z", "positive"])
        self.assertEqual(outputs["positive"].dtype, np.int64)
        self.assert_right(outputs, self.x)
        self.assert_right(self.model([self.x]), self.x)
        self.assert_right(self.model.run({"x": self.x, "bias": 2 * BIAS}), self.x, 2 * BIAS)
        self.assert_right(self.model.run({"x": self.x.tolist()}), self.x)

    def test_strides(self):
        wide = np.random.default_rng(2).standard_normal((8, 10)).astype(np.float32)
        for x in (wide.T[::2], wide.T[::-1], np.broadcast_to(wide[0, :8], (3, 8))):
            self.assert_right(self.model.run({"x": x}), np.ascontiguousarray(x))
        packed = np.zeros((4, 8), np.dtype([("a", np.int8), ("b", np.float32)]))
        packed["b"] = self.x[:4]
        self.assert_right(self.model.run({"x": packed["b"]}), self.x[:4])

    def test_dlpack(self):
        class Tensor:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        self.assert_right(self.model.run({"x": Tensor(self.x)}), self.x)

    def test_outputs_outlive_the_model(self):
        outputs = self.model.run({"x": self.x})
        y = outputs["y"][1:]
        del outputs, self.model
        gc.collect()
        np.testing.assert_allclose(y, expected(self.x)[1:], rtol=1e-5, atol=1e-5)

    def assert_raises(self, status, text, call):
        with self.assertRaises(kiln.Error) as caught:
            call()
        self.assertEqual(caught.exception.status, status)
        self.assertIn(text, str(caught.exception))

    def test_errors(self):
        run, status = self.model.run, kiln.Status
        shape = "input 'x' axis 1: expected 8, got 7"
        self.assert_raises(status.INVALID_SHAPE, shape, lambda: run({"x": self.x[:, :7]}))
        kind = "input 'x': expected float32, got float64"
        self.assert_raises(status.INVALID_TYPE, kind, lambda: run({"x": self.x.astype(float)}))
        self.assert_raises(status.INVALID_TYPE, "cannot be inputs", lambda: run({"x": self.x.astype(">f4")}))
        self.assert_raises(status.INVALID_ARGUMENT, "no input 'w'", lambda: run({"w": self.x}))
        self.assert_raises(status.INVALID_ARGUMENT, "'x' is missing", lambda: run({}))
        self.assert_raises(status.INVALID_ARGUMENT, "got 3", lambda: run([self.x] * 3))
        self.assert_raises(status.CONSTRAINT, "13", lambda: run({"x": np.zeros((13, 8), np.float32)}))
        self.assert_raises(status.IO, "nothing.so", lambda: kiln.load("nothing.so"))
        self.assert_raises(status.INVALID_ARTEFACT, "not an ELF", lambda: kiln.load(__file__))
        self.assert_raises(status.IO, "key.pem", lambda: kiln.load(MODEL, trusted_keys=["key.pem"]))
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as key:
            key.write("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA" + "A" * 43 + "=\n-----END PUBLIC KEY-----\n")
            key.flush()
            self.assert_raises(status.UNSIGNED, "not signed", lambda: kiln.load(MODEL, trusted_keys=[key.name]))
        self.assert_raises(status.INVALID_ARGUMENT, "threads", lambda: kiln.load(MODEL, threads=-1))
        self.assert_raises(status.UNSUPPORTED, "cuda:0", lambda: kiln.load(MODEL, device="cuda:0"))
        self.assert_right(run({"x": self.x}), self.x)

    def test_threads(self):
        wrong = []

        def work(seed):
            x = np.random.default_rng(seed).standard_normal((20 + seed, 8)).astype(np.float32)
            for _ in range(50):
                if not np.allclose(self.model.run({"x": x})["y"], expected(x), atol=1e-5):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class BatcherTest(unittest.TestCase):
    def setUp(self):
        self.model = kiln.load(os.path.join(os.path.dirname(MODEL), "batch.so"), threads=1)
        self.random = np.random.default_rng(2)

    def rows(self, n, k=5):
        return self.random.standard_normal((n, k)).astype(np.float32)

    def assert_right(self, outputs, x, bias=1):
        y = 2 * x + np.float32(bias)
        np.testing.assert_array_equal(outputs["y"], y)
        np.testing.assert_array_equal(outputs["t"], y.T)
        np.testing.assert_array_equal(outputs["ends"], y[:, [0, -1]].reshape(-1))
        np.testing.assert_array_equal(outputs["shared"], [bias])

    def test_specs(self):
        self.assertTrue(self.model.separable)
        self.assertEqual(self.model.batch, "n")
        other = kiln.load(MODEL)
        self.assertFalse(other.separable)
        with self.assertRaisesRegex(kiln.Error, "cannot be batched along 'n'"):
            kiln.Batcher(other)

    def test_futures(self):
        with kiln.Batcher(self.model, max_batch=8, max_wait_us=500) as batcher:
            requests = [self.rows(1 + i % 3, 4 + i % 2) for i in range(60)]
            futures = [batcher.submit({"x": x}) for x in requests]
            for x, future in zip(requests, futures):
                self.assert_right(future.result(timeout=60), x)
            self.assertEqual(batcher.stats()["completed"], 60)

    def test_inputs_and_options(self):
        with kiln.Batcher(self.model) as batcher:
            x = self.rows(2, 6)
            wide = self.rows(4, 6)
            self.assert_right(batcher.run({"x": x, "bias": np.float32([3])}), x, 3)
            # Strides are no obstacle.
            self.assert_right(batcher.run({"x": wide[::2]}, priority="high", deadline=30, block=1), wide[::2])
            with self.assertRaises(kiln.Error) as caught:
                batcher.run({"x": np.full((1, 5), 666, np.float32)})
            self.assertEqual(caught.exception.status, kiln.Status.CONSTRAINT)
            with self.assertRaises(kiln.Error) as caught:
                batcher.submit({"x": np.zeros((2, 600), np.float32)})
            self.assertEqual(caught.exception.status, kiln.Status.INVALID_SHAPE)
        with self.assertRaises(kiln.Error):
            kiln.Batcher(self.model, nonsense=1)
        with self.assertRaisesRegex(kiln.Error, "max_batch: expected 0 to 65536"):
            kiln.Batcher(self.model, max_batch=100000)

    def test_results_outlive_everything(self):
        batcher = kiln.Batcher(self.model)
        x = self.rows(3)
        result = batcher.run({"x": x})
        batcher.close()
        with self.assertRaises(kiln.Error):
            batcher.submit({"x": x})
        del batcher
        self.model = None
        gc.collect()
        self.assert_right(result, x)


if __name__ == "__main__":
    unittest.main()
