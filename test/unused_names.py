#!/usr/bin/env python3
"""unused_names.py FOLDER | --self-test: finds using-declarations and namespace aliases that their source does not use.

clang-tidy finds these only in a file that is compiled alone, and test/lint.sh gives it groups of sources."""

import pathlib
import re
import sys

DECLARATION = re.compile(r"^ *(?:using (?:\w+::)+(\w+)|namespace (\w+) = [\w:]+);", re.MULTILINE)
NO_CODE = re.compile(r'^ *#.*$|//.*$|"(?:[^"\\\n]|\\.)*"', re.MULTILINE)


def unused_names(text):
    text = NO_CODE.sub("", text)
    code = DECLARATION.sub("", text)
    for found in DECLARATION.finditer(text):
        name, alias = found.groups()
        # A member or a qualified name of the same spelling is no use.
        use = rf"\b{alias}::" if alias else rf"(?<!::)(?<!\.)(?<!->)\b{name}\b"
        if not re.search(use, code):
            yield name or alias


def self_test():
    used = "using core::vote;\nnamespace asio = boost::asio;\nvote one(asio::io_context&);\n"
    unused = '#include "core/step.hpp"\nusing core::step;\nnamespace io = boost::asio;\n' \
             'int two = command.step + a->step + core::step() + f("step");  // step, io::x\n'
    return list(unused_names(used)) == [] and list(unused_names(unused)) == ["step", "io"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else "unused_names.py: the self-test failed"
    wrong = [
        f"{source}: {name} is declared and not used"
        for source in sorted(pathlib.Path(sys.argv[1]).rglob("*.cpp"))
        for name in unused_names(source.read_text())
    ]
    return "\n".join(wrong) or 0


sys.exit(main())
