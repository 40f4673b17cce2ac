# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: guide.py PAGE SECTION: does what a section of a page says, in the current folder.

Blocks ```sh are run, and must succeed; a block ```language FILE is what the reader types into FILE. Times may be
anything in a test, so kiln-rules bench gets --pairs 3 --max-noise 100000.
"""
import re
import subprocess
import sys

with open(sys.argv[1]) as page:
    section = re.search(rf"^## {re.escape(sys.argv[2])}.*?(?=^## |\Z)", page.read(), re.M | re.S).group()
blocks = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", section, re.M | re.S)
for language, path, text in blocks:
    if path:
        with open(path, "w") as file:
            file.write(text)
    elif language == "sh":
        for command in text.splitlines():
            print("$", command, flush=True)
            if command.startswith("kiln-rules bench"):
                command += " --pairs 3 --max-noise 100000"
            status = subprocess.run(["sh", "-c", command]).returncode
            if status:
                sys.exit(f"exit status {status}")
print(len(blocks), "blocks")
