#!/bin/bash
# embedding_test.sh MAKEFILE LIBRARY: builds examples/serving as a user does,
# outside of the workspace and against libaitune.so, and runs its programs; looks
# at what the library exports.
set -eu
makefile=$(readlink -f "$1") library=$(readlink -f "$2")
sources=${makefile%/examples/serving/Makefile}
die() {
  echo "embedding_test: $*" >&2
  exit 1
}

mkdir -p "$TEST_TMPDIR/checkout" "$TEST_TMPDIR/program"
cd "$TEST_TMPDIR/checkout"
ln -s "$sources/compiler" "$sources/frontend" "$sources/runtime" "$sources/.venv" .
ln -s "${library%/frontend/api/libaitune.so}" bazel-bin
cd ../program
cp "$sources"/examples/serving/{Makefile,serve.c,tune.cc} .
make AITUNE=../checkout CFLAGS="-Wall -Wextra -Werror" CXXFLAGS="-Wall -Wextra"

model=$AITUNE_MODELS/mlp
./tune "$model.pt" "$model.inputs.pt" mlp.aitune >tune.txt
cat tune.txt
grep -q '^TorchInductorBackend(mode=max-autotune), largest difference from eager [0-9.]*e-0[5-9]$' tune.txt ||
  die "the tuned model is not what was expected"
./serve -t 2 -n 5 -j serving.json mlp.aitune "float32[4,1024]"
python3 - <<'P'
import json
serving = json.load(open("serving.json"))["serving"]
assert [row["threads"] for row in serving] == [1, 2], serving
assert all(row["calls_per_second"] > 0 for row in serving), serving
P
! ./serve mlp.aitune "float32[4,7]" 2>errors.txt || die "a wrong input ran"
[[ $(wc -l <errors.txt) == 1 ]] || die "a wrong input: $(<errors.txt)"
! ./serve none.pt "float32[4,1024]" 2>errors.txt || die "no model ran"
grep -q '^serve: load: none.pt: no such file' errors.txt ||
  die "no model: $(<errors.txt)"

nm -DC --defined-only "$library" | cut -d' ' -f3- >exports.txt
grep -q '^ait_module_run$' exports.txt || die "the C API is not exported"
! grep -v -E '^(ait_|ait::|aitune::|(typeinfo|vtable) for (ait|aitune)::)' exports.txt ||
  die "these are exported, and should not be"
