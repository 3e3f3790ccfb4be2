#!/usr/bin/env python3
"""Checks that test/faults.md and the labels of the tests agree.

- The lines are numbered 1, 2, 3 and so on.
- Each line ends with its label (`fault-25`), with *Not built yet* or with *Not shown by a test of its own*.
- Each label of a test has a line that ends with it. Each label that a line ends with is that of a test.
- Each label is that of a test in the first tier, unless the list in test/faults.md gives a reason. A test is in the second
  tier if it has a label of test/second_tier.txt.

A test has a label if a case says label("fault-25"), if CMakeLists.txt gives it LABELS with fault-25, or if its name in
test/simulation/scenario_THEME.cpp begins with fault_25_sim_. The other labels of a case are those of the colock_test() that
lists its file.

Prints the lines that have no test in the first tier, with their reasons, and each fault as FILE:LINE: TEXT. The exit code
is 1 if there is a fault.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

LIST = "test/faults.md"
SECOND_TIER = "test/second_tier.txt"
WITHOUT_LABEL = ["*Not built yet*", "*Not shown by a test of its own*"]

# How a test gets its label: (which files, what to look for). The number is the group of the expression.
LABELS = [
    ("**/*.[ch]pp", r'label\("fault-(\d+)"\)'),
    ("**/CMakeLists.txt", r'LABELS "[^"$]*\bfault-(\d+)'),
    ("simulation/scenario_*.cpp", r'"fault_(\d+)_sim_'),
]


class Shown(NamedTuple):
    """Where a test has the label of a fault, and its other labels."""

    name: str
    line: int
    labels: set


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = []

    def fault(self, name, line, text):
        self.faults.append(f"{name}:{line}: {text}")

    def shown(self):
        """For each number, the tests that have it."""
        found = {}
        for pattern, expression in LABELS:
            for path in sorted((self.root / "test").glob(pattern)):
                for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                    for match in re.finditer(expression, line):
                        name = str(path.relative_to(self.root))
                        found.setdefault(int(match[1]), []).append(Shown(name, number, self.labels_of(path, line)))
        return found

    def labels_of(self, path, line):
        """The labels of the test in this line of a file."""
        if path.suffix == ".txt":
            return set(re.search(r'LABELS "([^"]*)"', line)[1].split(";"))
        if path.name.startswith("scenario_"):
            return set(re.search(r'set\(labels "([^"]*)"', (path.parent / "CMakeLists.txt").read_text(encoding="utf-8"))[1].split(";"))
        for folder in path.parents:
            for words in self.tests_in(folder / "CMakeLists.txt"):
                if str(path.relative_to(folder)) in words:
                    return set(words) | ({"versions"} if "VALKEY_ONLY" in words else set())
            if folder == self.root:
                break
        self.fault(str(path.relative_to(self.root)), 1, "no colock_test() lists this file. Correct check_faults.py.")
        return set()

    @staticmethod
    def tests_in(file):
        """The words of each colock_test() in the file. All labels are among them. A function like colock_conformance_test()
        gives its own name as a label, and `integration`."""
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        calls = re.finditer(r"^ *colock_(?:([a-z]+)_)?test\(([^)]*)\)", text, re.MULTILINE)
        return [match[2].split() + ([match[1], "integration"] if match[1] else []) for match in calls]

    def second_tier(self):
        lines = (self.root / SECOND_TIER).read_text(encoding="utf-8").split("\n")
        return {line for line in lines if line and not line.startswith("#")}

    def reasons(self):
        """For each number in the list of lines without a test in the first tier: (line, reason)."""
        lines = enumerate((self.root / LIST).read_text(encoding="utf-8").split("\n"), 1)
        items = [(number, re.match(r"- `fault-(\d+)`: (.*)", line)) for number, line in lines]
        return {int(item[1]): (number, item[2]) for number, item in items if item}

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
        shown = self.shown()
        lines = self.lines()
        if not shown:
            self.fault("test/docs/check_faults.py", 1, "it finds no label in test/. Correct LABELS.")
        for expected, (line, number, text) in enumerate(lines, 1):
            if number != expected:
                self.fault(LIST, line, f"the fault has the number {number}, but {expected} comes next.")
                return self.faults
            self.check_line(line, number, text, shown)
        for number in sorted(shown.keys() - {number for _, number, _ in lines}):
            name, line, _ = shown[number][0]
            self.fault(name, line, f"the label fault-{number:02} has no line in {LIST}. Add one, or correct the label.")
        self.check_tiers({number: line for line, number, _ in lines}, shown)
        return self.faults

    def check_line(self, line, number, text, shown):
        label = f"fault-{number:02}"
        if text.endswith(f"`{label}`"):
            if number not in shown:
                self.fault(LIST, line, f"no test has the label {label}. Label a test, or end the line with {WITHOUT_LABEL[1]}.")
        elif not text.endswith(tuple(WITHOUT_LABEL)):
            self.fault(LIST, line, f"the line of fault {number} must end with `{label}`, {WITHOUT_LABEL[0]} or {WITHOUT_LABEL[1]}.")
        elif number in shown:
            name, where, _ = shown[number][0]
            self.fault(LIST, line, f"a test has the label {label} ({name}:{where}). End the line with `{label}`.")

    def check_tiers(self, line_of, shown):
        second_tier = self.second_tier()
        late = {number for number, tests in shown.items() if all(second_tier & test.labels for test in tests)}
        reasons = self.reasons()
        for number in sorted(late & line_of.keys() - reasons.keys()):
            names = ", ".join(sorted({test.name for test in shown[number]}))
            self.fault(LIST, line_of[number], f"fault {number} has tests in the second tier only ({names}). "
                                              "Add a test in the first tier, or give the reason in the list of this file.")
        for number, (line, reason) in sorted(reasons.items()):
            if number in late:
                print(f"fault-{number:02} has no test in the first tier: {reason}")
            else:
                self.fault(LIST, line, f"fault {number} has a test in the first tier, or none. Remove it from this list.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="the folder that has test/")
    faults = Checker(parser.parse_args().root.resolve()).check()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
