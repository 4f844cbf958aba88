#!/bin/bash
# run.sh SCRIPT PROGRAM README: runs a Python script with the program's path and
# the tutorial's, in a folder that looks like a checkout where the program was
# built: the headers that plug-ins include, and those that Bazel generated.
set -eu
script=$PWD/$1 program=$(readlink -f "$2") readme=$(readlink -f "$3")
sources=${readme%/examples/plugin/README.md}
checkout=$TEST_TMPDIR/checkout
mkdir -p "$checkout"
for folder in compiler runtime; do ln -s "$sources/$folder" "$checkout/$folder"; done
ln -s "${program%/frontend/cli/aitune}" "$checkout/bazel-bin"
ln -s "${AITUNE_MODELS:?is set by ./bazelw}" "$checkout/.models"
cd "$checkout"
exec python3 "$script" "$program" "$readme"
