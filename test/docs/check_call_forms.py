#!/usr/bin/env python3
"""Checks that each public function that takes a completion token has a row in test/integration/call_forms_test.cpp.

- A public function is one of include/colock/*.hpp that has a template parameter CompletionToken. It is neither private nor
  in a namespace `detail`, nor between @cond and @endcond.
- A class has the functions of its public base too. The base itself needs no row.
- A row begins with `row NAME("CLASS::FUNCTION"`, or with `row NAME("FUNCTION"`. It ends where the next one begins.
- Each function has one row for each of its overloads. It may have further rows, in which each call fails with a code. They
  begin with `row NAME("FUNCTION", CODE`.
- Each row calls its function, and calls `NAME.later`.

Prints each fault as FILE:LINE: TEXT. The exit code is 1 if there is a fault.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

HEADERS = "include/colock"
ROWS = "test/integration/call_forms_test.cpp"
PARAMETER = "CompletionToken"


class Scope(NamedTuple):
    """What is between two braces."""

    kind: str  # namespace, class, struct, or empty
    name: str
    access: str


class Row(NamedTuple):
    """The calls of one function."""

    function: str
    line: int
    name: str
    fails: bool
    text: str


def without(expression, text):
    """The text with spaces in the place of what matches. All lines keep their numbers."""
    return re.sub(expression, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL | re.MULTILINE)


def without_template(head):
    """A declaration without its template parameters."""
    head = head.strip()
    if not head.startswith("template"):
        return head
    depth = 0
    for position, sign in enumerate(head):
        depth += {"<": 1, ">": -1}.get(sign, 0)
        if sign == ">" and depth == 0:
            return head[position + 1 :]
    return ""


def scope_of(head):
    """The scope that begins after these words."""
    declaration = without_template(head).strip()
    match = re.match(r"(?:inline )?(namespace)\b ?([\w:]*)$", declaration)
    match = match or re.match(r"(class|struct) (?:COLOCK_EXPORT )?(\w+)(?: final)?(?: : .*)?$", declaration, re.DOTALL)
    if not match:
        return Scope("", "", "")
    return Scope(match[1], match[2], "private:" if match[1] == "class" else "public:")


def function_of(head, scopes):
    """The name of the function with these words, if it is a public one that takes a completion token."""
    if PARAMETER not in head or "(" not in head:
        return None
    if any(not scope.kind or "detail" in scope.name.split("::") or scope.access == "private:" for scope in scopes):
        return None
    names = [name for name in re.findall(r"(\w+)\(", without_template(head)) if name != "requires"]
    return "::".join([scope.name for scope in scopes if scope.kind != "namespace"] + names[:1])


def functions_in(text):
    """(name, line) of each public function of a header that takes a completion token."""
    text = without(r"^ *///? @cond$.*?^ *///? @endcond$", text)
    text = without(r"//[^\n]*|^ *#(?:[^\n]*\\\n)*[^\n]*", text)
    result = []
    scopes = []
    start = 0
    parentheses = 0
    for position, sign in enumerate(text):
        parentheses += {"(": 1, ")": -1}.get(sign, 0)
        if parentheses or sign not in "{};:":
            continue
        head = text[start:position]
        if sign == ":":
            if head.strip() not in ("public", "protected", "private"):
                continue
            scopes[-1] = scopes[-1]._replace(access=head.strip() + ":")
        elif sign == "}":
            scopes.pop()
        else:
            name = function_of(head, scopes)
            if name:
                result.append((name, text.count("\n", 0, position - len(head.lstrip())) + 1))
            if sign == "{":
                scopes.append(scope_of(head))
        start = position + 1
    return result


def inherit(declared, bases):
    """Moves the functions of each base to the classes that are derived from it."""
    for base in set(bases.values()):
        own = [name for name in declared if name.startswith(base + "::")]
        for name in own:
            places = declared.pop(name)
            for derived in (one for one in bases if bases[one] == base):
                declared.setdefault(name.replace(base, derived, 1), []).extend(places)


def rows_in(text):
    """Each row of the test."""
    begins = list(re.finditer(r'\brow (\w+)\(\s*"([\w:]+)"(,?)', text))
    ends = [match.start() for match in begins[1:]] + [len(text)]
    return [
        Row(match[2], text.count("\n", 0, match.start()) + 1, match[1], bool(match[3]), text[match.end() : end])
        for match, end in zip(begins, ends)
    ]


def calls(row):
    """Whether the row calls its function, and `later`."""
    *scope, name = row.function.split("::")
    call = rf"\.{name}\(" if scope else rf"(?<![\w.]){name}\("
    return re.search(call, row.text) and f"{row.name}.later(" in row.text


def check(root):
    faults = []
    declared = {}
    bases = {}
    for path in sorted((root / HEADERS).glob("*.hpp")):
        text = path.read_text(encoding="utf-8")
        bases.update(re.findall(r"^class (?:COLOCK_EXPORT )?(\w+)(?: final)? : public (\w+) \{", text, re.MULTILINE))
        for name, line in functions_in(text):
            declared.setdefault(name, []).append(f"{path.relative_to(root)}:{line}")
    inherit(declared, bases)
    if not declared:
        faults.append(f"test/docs/check_call_forms.py:1: it finds no function in {HEADERS}. Correct functions_in.")
    rows = rows_in((root / ROWS).read_text(encoding="utf-8"))
    for name, places in sorted(declared.items()):
        count = sum(row.function == name and not row.fails for row in rows)
        if count != len(places):
            faults.append(f"{places[-1]}: {name} has {len(places)} overloads, but {count} rows in {ROWS}. Add a row for each overload.")
    for row in rows:
        if row.function not in declared:
            faults.append(f"{ROWS}:{row.line}: no header declares {row.function} with a {PARAMETER}. Correct the name in the row.")
        elif not calls(row):
            faults.append(f"{ROWS}:{row.line}: the row does not call {row.function} and {row.name}.later. Add the calls.")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="the folder that has include/ and test/")
    faults = check(parser.parse_args().root.resolve())
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
