# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: validate-records.py SCHEMA FILE...: prints what of each file breaks the schema; exit status 1 when something does."""
import json
import sys

import jsonschema

with open(sys.argv[1]) as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
status = 0
for path in sys.argv[2:]:
    with open(path) as file:
        document = json.load(file)
    for error in validator.iter_errors(document):
        print(f"{path}: {error.json_path}: {error.message}")
        status = 1
print(f"{len(sys.argv) - 2} files")
sys.exit(status)
