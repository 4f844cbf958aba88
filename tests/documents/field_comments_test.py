#!/usr/bin/env python3
"""Comments behind fields say what they are.

`std::vector<bool> written; // by input` leaves out what is written: a comment
behind a declaration or an enumerator begins with no preposition. The device
code in compiler/codegen/gpu/prelude is a part of the texts that the compiler
prints, and is left out.
"""

import os
import re
import sys

# The rooms that keep to it, with all folders below them.
ROOMS = ["compiler", "quant", "runtime"]

PREPOSITION = re.compile(
    r"^\s*[^\s/].*[;,]\s*(?:///<|//)\s+(?:"
    "about|above|across|after|against|along|among|around|as|at|before|behind|below|beside|between|beyond|by|"
    "during|for|from|in|inside|into|like|near|of|on|outside|over|per|since|than|through|to|under|until|with|"
    r"within|without)\b", re.IGNORECASE)


def is_code(name):
    return name.endswith((".cc", ".cpp", ".h", ".td", ".proto"))


def without_noun(text):
    """The numbers of the lines whose comments begin so, from 1."""
    return [number for number, line in enumerate(text.splitlines(), 1) if PREPOSITION.match(line)]


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    found = []
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in filter(is_code, names):
                path = os.path.join(folder, name)
                with open(path) as file:
                    found += ["%s:%d: the comment behind the declaration begins with a preposition; name what it is" % (
                        os.path.relpath(path, root), number) for number in without_noun(file.read())]
    assert not found, "\n" + "\n".join(found)

    assert without_noun("int a;  // the sum\nint b;  // of a call\n  First, ///< by step\n// of all\n") == [2, 3]


sys.exit(main())
