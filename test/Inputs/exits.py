#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes when a command ends with an exit code: exits.py [--bound] CODE COMMAND...

--bound: permissions of files hold for root too.
"""
import ctypes
import os
import subprocess
import sys


def bind():
    # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: exec loses them.
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


arguments = sys.argv[1:]
bound = arguments[0] == "--bound"
expected, *command = arguments[bound:]
found = subprocess.run(command, preexec_fn=bind if bound and os.geteuid() == 0 else None).returncode
if found != int(expected):
    sys.exit(f"exit code {found}, expected {expected}: {' '.join(command)}")
