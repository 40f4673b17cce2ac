# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules cost a compilation, with more rules and without.

    matching-cost.py MODEL FOLDER...

Fails when the rules of the folders make the matcher work more than twice as much, counted, or take much more processor time,
or when matching alone takes long. Each run's work is a count; its time the least of some runs, warm.
"""
import json
import re
import resource
import subprocess
import sys

RUNS = 5
# Of a whole compilation, seconds: what starting a process, reading 200 files of a cache and another program's turn take.
MARGIN = 0.1
# Of matching alone, milliseconds: five times what it shall take on a machine of its own.
MOST_MATCHING = 50


def run(model, *options):
    def seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    least, matching, text = None, None, ""
    for _ in range(RUNS + 1):
        before = seconds()
        done = subprocess.run(["kilnc", model, "--stop-after=fuse", "--explain=json", "--no-records", "--timing", *options],
                              capture_output=True, text=True, check=True)
        spent = seconds() - before
        matched = float(re.search(r"([\d.]+) +[\d.]+ +rules matched", done.stderr).group(1))
        least = spent if least is None else min(least, spent)
        matching = matched if matching is None else min(matching, matched)
        text = done.stdout
    return json.loads(text), least, matching


model, *folders = sys.argv[1:]
_, without, _ = run(model, "--disable-all-rules")
base, few, matched = run(model)
more, many, matched_more = run(model, *(option for folder in folders for option in ("--rules", folder)))
matches = [sum(len(rule["matches"]) for rule in report["rules"]) for report in (base, more)]
added = len(more["rules"]) - len(base["rules"])
print(f"{added} more rules; matches {matches[0]} and {matches[1]}; work {base['work']} and {more['work']}")
print(f"processor time over none: {(few - without) * 1e3:.0f} ms and {(many - without) * 1e3:.0f} ms", file=sys.stderr)
print(f"matching alone: {matched:.1f} ms and {matched_more:.1f} ms", file=sys.stderr)
assert max(matched, matched_more) < MOST_MATCHING
assert added >= 200 and matches[0] == matches[1] and matches[0] > 0
for what in ("patterns", "constraints"):
    assert more["work"][what] <= 2 * base["work"][what], what
assert many - without <= 2 * (few - without) + MARGIN
