#!/usr/bin/env python3
"""Prints the tests that took more than half of their timeout. On a machine of half the speed they would fail.

near_timeout.py TESTS RESULTS

TESTS is the output of ctest --show-only=json-v1. RESULTS is a file of ctest --output-junit.
"""

import json
import sys
from xml.etree import ElementTree

tests, results = sys.argv[1:]
timeouts = {}
with open(tests, encoding="utf-8") as file:
    for test in json.load(file)["tests"]:
        for setting in test.get("properties", []):
            if setting["name"] == "TIMEOUT":
                timeouts[test["name"]] = setting["value"]
for test in ElementTree.parse(results).iter("testcase"):
    name, seconds = test.get("name"), float(test.get("time", 0))
    if seconds > timeouts.get(name, float("inf")) / 2:
        print(f"{name}: {seconds:.1f} s of {timeouts[name]:.0f} s")
