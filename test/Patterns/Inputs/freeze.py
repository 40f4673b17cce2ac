# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: freeze.py MEASUREMENTS DEVICE FOLDER RULE...: copies records as those of test-frozen-avx512.

Goldens are made with such records, so that measuring again does not change them; of a device that code is never made for,
so that no hash of kernels is compared.
"""
import hashlib
import pathlib
import re
import sys

source, device, folder, *rules = sys.argv[1:]
target = pathlib.Path(folder, "test-frozen-avx512")
target.mkdir(parents=True, exist_ok=True)
for rule in rules:
    text = pathlib.Path(source, device, rule + ".json").read_text()
    body, _ = re.sub(r'"slug": "[^"]*"', '"slug": "test-frozen-avx512"', text, count=1).rsplit(',\n "digest"', 1)
    digest = hashlib.sha256(body.encode()).hexdigest()
    (target / (rule + ".json")).write_text(f'{body},\n "digest": "sha256:{digest}"\n}}\n')
