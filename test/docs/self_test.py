#!/usr/bin/env python3
"""Checks the checkers: each must find the fault that is put into a copy of the documents, and nothing else."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

# (checker, file, what is replaced there, by what, a part of the message). No text to replace: it is put at the end.
CASES = [
    ("check", "docs/tutorial.md", "colock::mutex mutex{locks, \"invoice:42\"};", "colock::mutex mutex{locks, \"x\"};", "no file of examples/"),
    ("check", "docs/tutorial.md", "(installing.md)", "(instaling.md)", "the link leads to instaling.md"),
    ("check", "docs/tutorial.md", "(cancellation.md#with_lock)", "(cancellation.md#with)", "the heading #with"),
    ("check", "docs/tutorial.md", "`config::close_timeout`", "`config::closing_timeout`", "does not declare closing_timeout"),
    ("check", "docs/tutorial.md", "", "\n" * 200, "lines. At most 200 are allowed"),
    ("check", "README.md", "", "\n" * 120, "lines. At most 120 are allowed"),
    ("check", "docs/tutorial.md", "", "\nOne is here; another one is there.\n", "a sentence has a semicolon"),
    ("check", "docs/tutorial.md", "", "\n" + "A word " * 31 + "ends.\n", "a sentence has 63 words"),
    ("check", "docs/locks.md", "", "\n" + "A sentence of twenty words. ".replace("words", "words " * 17) * 99 + "\n", "words on average"),
    ("check", "docs/errors.md", "| `too_slow` |", "| `too_late` |", "no row of a table begins with `too_slow`"),
    ("check", "docs/configuration.md", "| `retry.attempts` |", "| `retry.tries` |", "begins with `attempts`"),
    ("check", "docs/operations.md", "| `undone` |", "| `rolled_back` |", "begins with `undone`"),
    ("check", "docs/installing.md", "| `COLOCK_CCACHE` |", "| `CCACHE` |", "begins with `COLOCK_CCACHE`"),
    ("check", "include/colock/mutex.hpp", "co_await locks.close();", "locks.close();", "no file of examples/"),
    ("check", "include/colock/mutex.hpp", "co_await locks.close();", "co_await locks.close(/*now*/);", "a comment that begins with /*"),
    ("check", "include/colock/mutex.hpp", "docs/mutex.md explains", "docs/mutexes.md explains", "the comment names docs/mutexes.md"),
    ("check", "include/colock/mutex.hpp", "`lock_options::handoff_limit`", "`lock_options::handoffs`", "does not declare handoffs"),
    ("check", "include/colock/reentrant_mutex.hpp", "[[nodiscard]] lease try_reenter", "[[nodiscard]] std::optional<lease> try_reenter", "an optional lease"),
    ("check", "docs/tutorial.md", "", "\nIt gives a `std::optional<colock::lease>`.\n", "an optional lease"),
    ("check", "include/colock/counters.hpp", "/// Leases that are held now.", "/// Leases; of now.", "a sentence has a semicolon"),
    ("check", "examples/cron.cpp", "// Copyright the colock authors.", "// Written by", "the file does not begin with"),
    ("check", "src/core/README.md", "| `round`, `vote` |", "| `round` |", "does not name vote.hpp"),
    ("check", "src/kinds/README.md", "| `multi/` |", "| several names |", "does not name multi"),
    ("check_faults", "test/faults.md", "`fault-25`", "`fault-26`", "faults.md:"),
    ("check_faults", "test/faults.md", "- `fault-109`: ", "- fault 109: ", "fault 109 has tests in the second tier only"),
    ("check_faults", "test/faults.md", "- `fault-109`: ", "- `fault-25`: ", "fault 25 has a test in the first tier"),
    ("check_faults", "test/second_tier.txt", "", "integration\n", "fault 6 has tests in the second tier only"),
    ("check_faults", "test/integration/CMakeLists.txt", "(undo_test.cpp ", "(${undo} ", "no colock_test() lists this file"),
    ("check_call_forms", "include/colock/basic_lock.hpp", "auto try_acquire(CompletionToken", "auto try_lock(CompletionToken", "mutex::try_lock has 1 overloads, but 0 rows"),
    ("check_call_forms", "include/colock/semaphore.hpp", "auto try_acquire(std::uint32_t count", "auto acquire(std::int32_t count", "semaphore::acquire has 3 overloads, but 2 rows"),
    ("check_call_forms", "test/integration/call_forms_test.cpp", "adopt(locks, ", "adopt_twice(locks, ", "the row does not call adopt"),
    ("check_call_forms", "test/integration/call_forms_test.cpp", "inspect.later(", "leases.later(", "does not call client::inspect and inspect.later"),
    ("check_call_forms", "test/integration/call_forms_test.cpp", "row read(\"versioned::read\")", "row read(\"versioned::see\")", "no header declares versioned::see"),
]


def faults_of(checker, root):
    result = subprocess.run([sys.executable, HERE / f"{checker}.py", root], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def put_fault(root, copy, name, old, new):
    """Makes a copy that consists of links, except the file that gets the fault. Returns whether the file has the old text."""
    for path in root.iterdir():
        if not path.name.startswith(".") and path.name != "build":
            (copy / path.name).symlink_to(path)
    folder = copy / Path(name).parts[0]
    folder.unlink()
    if (root / folder.name).is_dir():
        shutil.copytree(root / folder.name, folder)
    text = (root / name).read_text(encoding="utf-8")
    (copy / name).write_text(text.replace(old, new) if old else text + new, encoding="utf-8")
    return old in text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder that has README.md and docs/")
    root = parser.parse_args().root.resolve()
    failed = False
    for checker, name, old, new, message in CASES:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            if not put_fault(root, copy, name, old, new):
                print(f"{name} does not have {old!r}. Mend the case of the self-test.")
                failed = True
                continue
            code, output = faults_of(checker, copy)
            if code != 1 or message not in output:
                print(f"{checker}.py does not find {new.strip()[:60]!r} in {name}. It prints:\n{output}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
