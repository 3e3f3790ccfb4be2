#!/usr/bin/env python3
"""Checks the documents: README.md, docs/, and the comments of the public headers, include/colock/*.hpp.

- A sample in C++ or JSON is a part of a file in examples/, which the tests compile and run.
- A link leads to a file of this repository and to a heading that exist. Links to other hosts are not followed.
- README.md has at most 120 lines. A page of docs/ has at most 200, except benchmarks.md.
- A page that a comment of a header names exists.
- No public header, page or example has an optional lease. An empty lease says that the lock was not granted.
- Names of the API exist in include/colock. Every option, error, counter and CMake option has its row.
- Each source file names its licence.
- Sentences are short: at most 15 words on average, at most 1 % with more than 30. There are no semicolons.
- The README of a layer in src/ names each header and script of the layer, and the folder of each lock kind. It
  is checked like a page of docs/. So is each README below src/, test/ and examples/.

Prints each fault as FILE:LINE: TEXT. The exit code is 1 if there is one.
"""

import argparse
import os
import re
import sys
import textwrap
from pathlib import Path

NOTICE = "// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0\n"
LONGEST_PAGE = 200
LONGEST_FRONT_PAGE = 120
LONGEST_MEAN = 15
LONG_SENTENCE = 30
LONG_SENTENCES = 0.01

# Which page lists which names: (page, files, what encloses the names there, how a name is declared).
LISTS = [
    ("docs/configuration.md", "include/colock/config.hpp", r"struct (?:COLOCK_EXPORT )?config \{(.*?)\n\};", r"^    [\w:<>]+ (\w+)\s*(?:=|\{).*;"),
    ("docs/configuration.md", "include/colock/lock_options.hpp", r"struct (?:COLOCK_EXPORT )?lock_options \{(.*?)\n\};", r"^    [\w:<>]+ (\w+)\s*(?:=|\{).*;"),
    ("docs/configuration.md", "include/colock/lock_options.hpp", r"struct retry_options \{(.*?)\n\};", r"^    [\w:<>]+ (\w+)\s*(?:=|\{).*;"),
    ("docs/versioned.md", "include/colock/versioned.hpp", r"struct (?:COLOCK_EXPORT )?versioned_options \{(.*?)\n\};", r"^    [\w:<>]+ (\w+)\s*(?:=|\{).*;"),
    ("docs/once.md", "include/colock/once.hpp", r"struct (?:COLOCK_EXPORT )?once_options \{(.*?)\n\};", r"^    [\w:<>]+ (\w+)\s*(?:=|\{).*;"),
    ("docs/errors.md", "include/colock/error.hpp", r"enum class errc \{(.*?)\n\};", r"^    (\w+) = \d+"),
    ("docs/errors.md", "include/colock/error.hpp", r"enum class condition \{(.*?)\n\};", r"^    (\w+) = \d+"),
    ("docs/operations.md", "include/colock/counters.hpp", r"struct counters \{(.*?)\n\};", r"^    [\w:]+ (\w+) ="),
    ("docs/installing.md", "CMakeLists.txt", r"(.*)", r"^option\((COLOCK_[A-Z_]+) "),
    ("docs/installing.md", "cmake/*.cmake", r"(.*)", r"^(?:option\(|set\()(COLOCK_[A-Z_]+) .*(?:CACHE STRING|\$\{PROJECT_IS_TOP_LEVEL\})"),
]
# The layers with a README that lists their files. A lock kind is listed by its folder.
LAYERS = ["core", "instance", "kinds", "platform", "runtime"]
API = r"\b(?:config|lock_options|versioned_options|once_options|retry_options|counters|errc|condition|lease|client|mutex|shared_mutex|reentrant_mutex|lock_owner|instance_info|instance_state|release_result)::(\w+)"


class Page:
    def __init__(self, root, path):
        self.path = path
        self.name = os.path.relpath(path, root)
        self.lines = path.read_text(encoding="utf-8").split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.samples = []  # (line, language, text)
        self.prose = []  # (line, text), without the samples
        language = None
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r"(\s*)```(\w*)", line)
            if language is None and fence:
                language, first, sample = fence[2], number + 1, []
            elif language is not None and fence:
                self.samples.append((first, language, textwrap.dedent("\n".join(sample))))
                language = None
            elif language is not None:
                sample.append(line)
            else:
                self.prose.append((number, line))

    def anchors(self):
        headings = [re.sub(r"^#+ ", "", line) for _, line in self.prose if re.match(r"#+ ", line)]
        return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}

    def sentences(self):
        """(line, text, words) of each sentence that stands in a paragraph or in an item of a list."""
        paragraphs, open_one = [], False
        in_comment = False
        for number, line in self.prose:
            in_comment = in_comment or "<!--" in line
            skipped = in_comment or not line.strip() or re.match(r"\s*(#|\||!\[)", line)
            if "-->" in line:
                in_comment = False
            item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
            if skipped:
                open_one = False
            elif item or not open_one:
                paragraphs.append([number, item[1] if item else line.strip()])
                open_one = True
            else:
                paragraphs[-1][1] += " " + line.strip()
        for number, text in paragraphs:
            plain = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text))
            for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z(`*\[])", plain):
                words = len(re.findall(r"[A-Za-z][A-Za-z'-]*", sentence))
                if words > 2:
                    yield number, sentence, words


class Header(Page):
    """A page that consists of the comments of a public header. Its samples stand between @code{.cpp} and @endcode."""

    def __init__(self, root, path):
        self.path = path
        self.name = os.path.relpath(path, root)
        self.samples = []
        self.prose = []
        sample = None
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            comment = re.search(r"///<? ?(.*)", line)
            text = comment[1] if comment else ""
            begin = re.match(r"\s*@code(?:\{\.(\w+)\})?", text)
            if begin:
                language, first, sample = begin[1] or "cpp", number + 1, []
            elif text.strip() == "@endcode":
                self.samples.append((first, language, textwrap.dedent("\n".join(sample))))
                sample = None
            elif sample is not None:
                sample.append(text)
            else:
                self.prose.append((number, re.sub(r"^@\w+ ?", "", text)))


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = []
        self.pages = [Page(root, path) for path in [root / "README.md", *sorted((root / "docs").glob("**/*.md"))]]
        for folder in ["src", "test", "examples"]:
            self.pages += [Page(root, path) for path in sorted((root / folder).glob("**/README.md"))]
        self.public_headers = [Header(root, path) for path in sorted((root / "include/colock").glob("*.hpp"))]
        headers = "\n".join(path.read_text() for path in sorted((root / "include").glob("**/*.hpp")))
        self.headers = re.sub(r"//.*", "", headers)
        examples = [path for path in sorted((root / "examples").glob("**/*")) if path.suffix in {".cpp", ".hpp", ".json"}]
        self.examples = ["\n" + path.read_text() for path in examples]

    def fault(self, page, line, text):
        self.faults.append(f"{page.name}:{line}: {text}")

    def check(self):
        for page in self.pages:
            self.check_length(page)
            self.check_samples(page)
            self.check_links(page)
            self.check_names(page)
            self.check_sentences(page)
        for header in self.public_headers:
            self.check_samples(header)
            self.check_nested_comments(header)
            self.check_named_pages(header)
            self.check_names(header)
            self.check_sentences(header)
        self.check_lists()
        self.check_layers()
        self.check_notices()
        self.check_optional_leases()
        return self.faults

    def check_notices(self):
        for folder in ["include", "src", "examples", "test"]:
            for path in sorted((self.root / folder).glob("**/*.[ch]pp")):
                if not path.read_text(encoding="utf-8").startswith(NOTICE):
                    self.faults.append(f"{os.path.relpath(path, self.root)}:1: the file does not begin with: {NOTICE}")

    def check_optional_leases(self):
        files = [path for folder in ["include", "docs", "examples"] for path in sorted((self.root / folder).glob("**/*"))]
        for path in [self.root / "README.md", *files]:
            if path.suffix in {".hpp", ".cpp", ".md"}:
                for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                    if re.search(r"optional<\s*(?:colock::)?lease\s*>", line):
                        name = os.path.relpath(path, self.root)
                        self.faults.append(f"{name}:{number}: an optional lease. A lease that is empty needs no optional.")

    def check_layers(self):
        for layer in LAYERS:
            folder = self.root / "src" / layer
            text = (folder / "README.md").read_text(encoding="utf-8")
            sources = [path.relative_to(folder) for path in sorted(folder.glob("**/*")) if path.suffix in {".hpp", ".lua"}]
            if layer == "kinds":
                sources = sorted({Path(path.parts[0]) for path in sources})
            for path in sources:
                if not re.search(rf"`(?:[\w/]+/)?{path.stem}(?:\.\w+|/)?`", text):
                    self.faults.append(f"src/{layer}/README.md:1: it does not name {path}. Add it to a table.")

    def check_length(self, page):
        if page.name == "docs/benchmarks.md":
            return
        limit = LONGEST_FRONT_PAGE if page.name == "README.md" else LONGEST_PAGE
        if len(page.lines) > limit:
            self.fault(page, limit + 1, f"the page has {len(page.lines)} lines. At most {limit} are allowed. Split it.")

    def is_in_an_example(self, sample):
        return any("\n" + textwrap.indent(sample, " " * indent) + "\n" in text for text in self.examples for indent in (0, 4, 8, 12))

    def check_samples(self, page):
        for line, language, text in page.samples:
            if language in {"cpp", "json"} and not self.is_in_an_example(text):
                self.fault(page, line, "no file of examples/ contains this sample. Take it from one, to the letter.")

    def check_nested_comments(self, header):
        for line, _, text in header.samples:
            if "/*" in text:
                self.fault(header, line, "the sample has a comment that begins with /*. Doxygen looks for its end beyond the sample.")

    def check_links(self, page):
        for line, text in page.prose:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                goal = (page.path.parent / path).resolve() if path else page.path
                if not goal.exists():
                    self.fault(page, line, f"the link leads to {path}, which does not exist.")
                elif anchor and goal.suffix == ".md" and anchor not in Page(self.root, goal).anchors():
                    self.fault(page, line, f"the link leads to the heading #{anchor}, which {goal.name} does not have.")

    def check_named_pages(self, header):
        for line, text in header.prose:
            for name in re.findall(r"\bdocs/\w+\.md\b", text):
                if not (self.root / name).exists():
                    self.fault(header, line, f"the comment names {name}, which does not exist.")

    def check_names(self, page):
        for line, text in page.prose:
            for name in re.findall(API, text):
                if not re.search(rf"\b{name}\b", self.headers):
                    self.fault(page, line, f"include/colock does not declare {name}.")

    def check_sentences(self, page):
        all_sentences = list(page.sentences())
        for line, sentence, words in all_sentences:
            if ";" in sentence:
                self.fault(page, line, f"a sentence has a semicolon. Make two of it: {sentence}")
        if not all_sentences:
            return
        mean = sum(words for _, _, words in all_sentences) / len(all_sentences)
        if mean > LONGEST_MEAN:
            self.fault(page, 1, f"a sentence has {mean:.1f} words on average. At most {LONGEST_MEAN} are allowed.")
        long = [one for one in all_sentences if one[2] > LONG_SENTENCE]
        if len(long) > LONG_SENTENCES * len(all_sentences):
            for line, sentence, words in long:
                self.fault(page, line, f"a sentence has {words} words, more than {LONG_SENTENCE}: {sentence}")

    def check_lists(self):
        for name, source, enclosing, declaration in LISTS:
            text = "\n".join(path.read_text() for path in sorted(self.root.glob(source)))
            enclosed = re.search(enclosing, text, re.S)
            declared = re.findall(declaration, enclosed[1], re.M) if enclosed else []
            if not declared:
                self.faults.append(f"{source}: test/docs/check.py finds no name that {name} has to list. Mend the checker.")
            path = self.root / name
            rows = re.findall(r"^\|[^|]*", path.read_text(), re.M) if path.exists() else []
            for each in declared:
                begin = rf"\|\s*(?:`[^`]*`,\s*)*`(?:\w+(?:::|\.))?{each}`"
                if not any(re.match(begin, row) for row in rows):
                    self.faults.append(f"{name}: no row of a table begins with `{each}`, which {source} declares.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="the folder that has README.md and docs/")
    faults = Checker(parser.parse_args().root.resolve()).check()
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
