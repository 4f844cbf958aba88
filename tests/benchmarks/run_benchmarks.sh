#!/bin/bash
# Runs a benchmark with the project's Python and what it needs; see there.
# The first arguments come from Bazel: aitune, the benchmark, the program that
# makes the models. AITUNE_PYTHON names another Python that has torch too, for
# example one with ONNX Runtime and OpenVINO.
set -eu
aitune=$(readlink -f "$1")
program=$(readlink -f "$2")
makers=$(readlink -f "$3")
shift 3
root=$(cd "$(dirname "$makers")/../.." && pwd)
cd "${BUILD_WORKING_DIRECTORY:-.}"
exec "${AITUNE_PYTHON:-$root/.venv/bin/python}" "$program" \
  --program "$aitune" --makers "$makers" --folder "${AITUNE_MODELS:-$root/.models}" "$@"
