#!/usr/bin/env python3
"""declared.py LIBRARY FOLDER...: compares what headers declare with what the
library exports.

FOLDERs hold the installed C++ headers. A function that one of them declares and
that the library has, but does not export, could be compiled against and not be
linked: it is printed. What a header defines itself is the caller's to compile,
and what it declares `private:` nobody calls. Headers are read as text: names,
not signatures, are compared.
"""

import os
import re
import subprocess
import sys

TOKEN = re.compile(r"""
    (?P<open>(?:namespace\s+(?P<space>[\w:]*)\s*
              |(?:class|struct|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?(?P<kind>\w+)[^;{}()]*)?\{)
    |(?P<close>\})
    |(?P<access>(?:public|private|protected)\s*:(?!:))
    |(?P<call>~?\w+)\s*\((?P<arguments>[^(){};]*(?:\([^(){};]*\)[^(){};]*)*)\)
     (?P<rest>[^;{}():]*(?:=\s*(?:default|delete|0)\s*)?)(?P<end>[;{:])
    """, re.X)


def declared(text):
    """The qualified names of functions that a header declares and does not
    define, as "aitune::Device::Parse"."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.S | re.M)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    names, scopes, hidden = set(), [], []
    for token in TOKEN.finditer(text):
        if token["open"]:
            scopes.append(token["space"] if token["space"] is not None else token["kind"] or "")
            hidden.append(token["open"].startswith("class"))
        elif token["close"]:
            if scopes:
                scopes.pop()
                hidden.pop()
        elif token["access"]:
            if hidden:
                hidden[-1] = token["access"].startswith("private")
        elif token["end"] == ";" and not (hidden and any(hidden)):
            if "=" not in token["rest"] and token["call"] not in ("if", "while", "return", "sizeof"):
                names.add("::".join([scope for scope in scopes if scope] + [token["call"]]))
        elif token["end"] == "{":
            scopes.append("")
            hidden.append(False)
    return names


def symbols(library, *options):
    out = subprocess.run(["nm", "-C", "--defined-only", *options, library],
                         check=True, capture_output=True, text=True).stdout
    # "aitune::Device::Parse(std::..." without template arguments of its own.
    return {match[1] for match in re.finditer(r"^\S+ [TtWw] (?:vtable for )?((?:ait|aitune)::[\w:~]+)(?:\[abi:\w+\])?\(", out, re.M)}


def main():
    library, *folders = sys.argv[1:]
    names = set()
    for folder in folders:
        for path, _, files in os.walk(folder):
            for file in files:
                if file.endswith(".h") and not file.endswith(".pb.h"):
                    with open(os.path.join(path, file)) as header:
                        names |= declared(header.read())
    exported = symbols(library, "-D")
    missing = sorted((names & symbols(library)) - exported)
    assert names & exported, "no function of the headers was found"
    for name in missing:
        print(name)
    return 1 if missing else 0


sys.exit(main())
