# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a record as kiln-rules bench does, with times that a test chooses.

    record.py FOLDER RULE PATTERN DTYPE,FLOPS,BYTES UNFUSED,FUSED [KEY=VALUE]...

FLOPS and BYTES are the bucket's logarithms, UNFUSED and FUSED medians in nanoseconds. Keys: device, mad, saved, peak, hash,
size, seed; and after=TEXT=OTHER, which is put in the place of TEXT when the digest has been taken: an edit by hand.
"""
import hashlib
import json
import pathlib
import sys

folder, rule, pattern, bucket, times, *rest = sys.argv[1:]
options = dict(device="test-frozen-avx512", mad="1", saved="0", peak="0", hash="0" * 32, size="small", seed="0")
options.update(item.split("=", 1) for item in rest)
dtype, flops, bytes_ = bucket.split(",")
unfused, fused = (int(time) for time in times.split(","))
mad = options["mad"]
measurement = (
    f'{{"pattern": {json.dumps(pattern)}, "instance": "chosen", "size": "{options["size"]}", "seed": {options["seed"]}, '
    f'"bucket": {{"dtype": "{dtype}", "flops": {flops}, "bytes": {bytes_}}}, "kernel_hash": "{options["hash"]}", "n": 25, '
    f'"unfused_ns": {{"median": {unfused}, "mad": {mad}}}, "fused_ns": {{"median": {fused}, "mad": {mad}}}, '
    f'"speedup": {unfused / fused:.3f}, "saved_bytes": {options["saved"]}, "peak_bytes_change": {options["peak"]}, '
    f'"error": {{"max_abs": 0.000e+00, "bound": 1.000e-05}}}}'
)
body = (
    f'{{\n "format": "1.0",\n "rule": "{rule}",\n "device": {{"slug": "{options["device"]}", "cpu": "A test", "cores": 2, '
    f'"isa": [], "caches": {{}}}},\n "clock": "none",\n "date": "2026-01-01",\n "kiln": "kiln 0.1.0",\n '
    f'"compiler": "LLVM 22.1.8",\n "measurements": [\n  {measurement}\n ]'
)
text = f'{body},\n "digest": "sha256:{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'
if "after" in options:
    old, new = options["after"].split("=", 1)
    assert old in text, old
    text = text.replace(old, new, 1)
path = pathlib.Path(folder, options["device"], rule + ".json")
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(text)
