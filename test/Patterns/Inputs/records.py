# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks at and spoils records of rules.

usage: records.py validate SCHEMA FOLDER     prints what of each <device>/<rule>.json breaks the schema
       records.py edit FOLDER RULE KEY VALUE   sets one number: KEY is like measurements.0.n
       records.py interrupt FOLDER -- COMMAND  runs it, and interrupts it as soon as there is a record
"""
import glob
import json
import os
import signal
import subprocess
import sys
import time


def files(folder, rule="*"):
    return sorted(glob.glob(os.path.join(folder, "*", rule + ".json")))


def validate(schema_file, folder):
    import jsonschema

    with open(schema_file) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    status = 0
    for path in files(folder):
        with open(path) as file:
            document = json.load(file)
        for error in validator.iter_errors(document):
            print(f"{path}: {error.json_path}: {error.message}")
            status = 1
    print(f"{len(files(folder))} files")
    return status


def edit(folder, rule, key, value):
    (path,) = files(folder, rule)
    with open(path) as file:
        document = json.load(file)
    *outer, last = [int(part) if part.isdigit() else part for part in key.split(".")]
    place = document
    for part in outer:
        place = place[part]
    place[last] = int(value)
    with open(path, "w") as file:
        json.dump(document, file)
    return 0


def interrupt(folder, _, *command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not files(folder) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    print(f"exit status {process.returncode}\n{errors}")
    return 0


sys.exit({"validate": validate, "edit": edit, "interrupt": interrupt}[sys.argv[1]](*sys.argv[2:]))
