# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs affine.so with the installed package."""
import sys

import kiln
import numpy

model = kiln.load(sys.argv[1])
result = model.run({"x": numpy.array([[1, 2, 3]], dtype=numpy.float32)})
assert (result["y"] == [[1.5, 3.5, 9]]).all(), result
