# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""killed.py MODEL: kills compilations after more and more time, and looks at what is left each time."""
import os
import subprocess
import sys
import time

model = sys.argv[1]
command = ["kilnc", model, "-o", "model.so", "--header", "", "--quiet"]
subprocess.run(command, check=True)
with open("model.so", "rb") as file:
    whole = file.read()
start = time.monotonic()
subprocess.run(command, check=True)
length = time.monotonic() - start
files = set(os.listdir("."))
rounds, killed = 25, 0
for i in range(rounds):
    process = subprocess.Popen(command)
    time.sleep(length * 1.1 * i / rounds)
    process.kill()
    killed += process.wait() != 0
    if set(os.listdir(".")) != files:
        sys.exit(f"left behind: {set(os.listdir('.')) - files}")
    with open("model.so", "rb") as file:
        if file.read() != whole:
            sys.exit("a part of an artefact was left")
if killed < rounds // 4:
    sys.exit(f"only {killed} of {rounds} compilations were killed")
