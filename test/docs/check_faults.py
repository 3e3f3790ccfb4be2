#!/usr/bin/env python3
"""Checks that test/faults.md and the labels of the tests agree.

- The lines are numbered 1, 2, 3 and so on.
- Each line ends with its label (`fault-25`), with *Not built yet* or with *Not shown by a test of its own*.
- Each label of a test has a line that ends with it. Each label that a line ends with is that of a test.

A test has a label if a case says label("fault-25"), if CMakeLists.txt gives it LABELS with fault-25, or if its name in
test/simulation/scenario_THEME.cpp begins with fault_25_sim_.

Prints each fault as FILE:LINE: TEXT. The exit code is 1 if there is one.
"""

import argparse
import re
import sys
from pathlib import Path

LIST = "test/faults.md"
WITHOUT_LABEL = ["*Not built yet*", "*Not shown by a test of its own*"]

# How a test gets its label: (which files, what to look for). The number is the group of the expression.
LABELS = [
    ("**/*.[ch]pp", r'label\("fault-(\d+)"\)'),
    ("**/CMakeLists.txt", r'LABELS "[^"$]*\bfault-(\d+)'),
    ("simulation/scenario_*.cpp", r'"fault_(\d+)_sim_'),
]


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = []

    def fault(self, name, line, text):
        self.faults.append(f"{name}:{line}: {text}")

    def labels(self):
        """For each number, where the first test has it: (file, line)."""
        found = {}
        for pattern, expression in LABELS:
            for path in sorted((self.root / "test").glob(pattern)):
                for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                    for match in re.finditer(expression, line):
                        found.setdefault(int(match[1]), (str(path.relative_to(self.root)), number))
        return found

    def lines(self):
        """(line, number, text) of each fault of the list. A text may go on in lines that are indented."""
        result = []
        for number, line in enumerate((self.root / LIST).read_text(encoding="utf-8").split("\n"), 1):
            item = re.match(r"(\d+)\. (.*)", line)
            if item:
                result.append([number, int(item[1]), item[2]])
            elif result and re.match(r" +\S", line):
                result[-1][2] += " " + line.strip()
        return result

    def check(self):
        labels = self.labels()
        lines = self.lines()
        if not labels:
            self.fault("test/docs/check_faults.py", 1, "it finds no label in test/. Correct LABELS.")
        for expected, (line, number, text) in enumerate(lines, 1):
            if number != expected:
                self.fault(LIST, line, f"the fault has the number {number}, but {expected} comes next.")
                return self.faults
            self.check_line(line, number, text, labels)
        for number in sorted(labels.keys() - {number for _, number, _ in lines}):
            name, line = labels[number]
            self.fault(name, line, f"the label fault-{number:02} has no line in {LIST}. Add one, or correct the label.")
        return self.faults

    def check_line(self, line, number, text, labels):
        label = f"fault-{number:02}"
        if text.endswith(f"`{label}`"):
            if number not in labels:
                self.fault(LIST, line, f"no test has the label {label}. Label a test, or end the line with {WITHOUT_LABEL[1]}.")
        elif not text.endswith(tuple(WITHOUT_LABEL)):
            self.fault(LIST, line, f"the line of fault {number} must end with `{label}`, {WITHOUT_LABEL[0]} or {WITHOUT_LABEL[1]}.")
        elif number in labels:
            name, where = labels[number]
            self.fault(LIST, line, f"a test has the label {label} ({name}:{where}). End the line with `{label}`.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="the folder that has test/")
    faults = Checker(parser.parse_args().root.resolve()).check()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
