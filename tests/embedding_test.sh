#!/bin/bash
# embedding_test.sh MAKEFILE INSTALL SYMBOLS DECLARED: installs AITune, builds
# examples/serving as a user does, outside of the workspace, with pkg-config and
# with CMake, and runs its programs; looks at what the library exports.
set -eu
makefile=$(readlink -f "$1") symbols=$(readlink -f "$3") declared=$(readlink -f "$4")
sources=${makefile%/examples/serving/Makefile}
die() {
  echo "embedding_test: $*" >&2
  exit 1
}

"./$2" "$TEST_TMPDIR/installed"
# What is installed may be moved.
mv "$TEST_TMPDIR/installed" "$TEST_TMPDIR/prefix"
prefix=$TEST_TMPDIR/prefix library=$prefix/lib/libaitune.so
mkdir "$TEST_TMPDIR/program"
cd "$TEST_TMPDIR/program"
cp "$sources"/examples/serving/{CMakeLists.txt,Makefile,serve.c,call.cc,tune.cc} .
make PREFIX="$prefix" CFLAGS="-Wall -Wextra -Werror" CXXFLAGS="-Wall -Wextra"

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

# The library generates code in processes of the program in ../bin.
"$prefix/bin/aitune" --help >help.txt || die "the program does not start"
! readelf -d "$library" "$prefix/bin/aitune" | grep -E 'R(UN)?PATH.*ORIGIN' ||
  die "libraries would be looked for around the prefix"

cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" >cmake.txt || die "$(<cmake.txt)"
cmake --build build >cmake.txt || die "$(<cmake.txt)"
build/serve -t 1 -n 2 mlp.aitune "float32[4,1024]"

# The layer over the C API needs nothing but itself and the C headers.
mkdir bare
cp "$prefix"/include/aitune/*.{h,hpp} bare
${CXX:-c++} -std=c++17 -fsyntax-only -Wall -Wextra -Werror -Ibare call.cc || die "aitune.hpp needs more than aitune.h"
# Each part can be included alone, in C.
for header in "$prefix"/include/aitune/*.h; do
  ${CC:-cc} -std=c99 -fsyntax-only -Wall -Wextra -Werror -x c "$header" || die "$header can't be included alone"
done
for call in ./call build/call; do
  "$call" mlp.aitune 4 1024 >call.txt || die "$call: $(<call.txt)"
  grep -q '^TorchInductorBackend: cpu' call.txt || die "$call lists no backends: $(<call.txt)"
  grep -q '^output 0: 4 .*, largest ' call.txt || die "$call: $(<call.txt)"
done
./call "$model.pt" 4 1024 >call.txt || die "call: $(<call.txt)"
grep -q '^TorchInductorBackend(fullgraph=True)$' call.txt || die "call: $(<call.txt)"
! ./call none.pt 4 2>errors.txt >call.txt || die "no model was called"
grep -q '^call: none.pt: no such file' errors.txt || die "no model: $(<errors.txt)"
sed -i 's/aitune 2 REQUIRED/aitune 1 REQUIRED/' CMakeLists.txt
! cmake -S . -B other -DCMAKE_PREFIX_PATH="$prefix" >cmake.txt 2>&1 || die "another version was taken"

# Each header of the C++ API that README names, and a function of each.
cat >headers.cc <<'P'
#include <ATen/ATen.h>
#include <iostream>
#include "frontend/api/module.h"
#include "frontend/backends/compiled/torch_inductor_config.h"
#include "frontend/torchscript/keyword_arguments.h"
#include "frontend/torchscript/substitution.h"
#include "runtime/backend/registry.h"
#include "runtime/bundle/bundle_signature.h"
#include "runtime/control/call_limit.h"
#include "runtime/control/control.h"
#include "runtime/logging/logging.h"
int main(int, char** arguments) {
  using aitune::frontend::ValueList;
  aitune::SetLogSink([](aitune::LogChannel, std::string_view) {});
  auto module = ait::Module::Load(arguments[1], {});
  if (!module.ok() || aitune::ListBackends().empty()) return 1;
  if (!aitune::StrategyByName("MinLatency").ok() || !aitune::ParseDataType("float32")) return 6;
  if (aitune::frontend::ListOptions().empty() || !aitune::frontend::TorchInductorBackendConfig().Validate().ok())
    return 7;
  auto call = aitune::frontend::WithKeywordArguments(
      (*module)->model(), ValueList(), {"input"}, ValueList({at::ones({4, 1024})}));
  if (!call.ok()) std::cerr << call.status() << "\n";
  const aitune::CallLimit limit;
  const aitune::ScopedCallLimit scope(&limit);
  const aitune::ScopedStance stance(aitune::Stance::kForceEager);
  if (!call.ok() || !(*module)->Run(*call).ok()) return 2;
  if (aitune::VerifiedDigest("mlp.aitune", "none").ok()) return 3;
  if (aitune::frontend::SubstituteInGraph("aten::relu", "no").ok()) return 4;
  aitune::AllowInGraph("aten::relu");
  aitune::DisallowInGraph("aten::relu");
  return aitune::IsAllowedInGraph("aten::relu") ? 5 : 0;
}
P
grep -oE '`[a-z_]+\.h`' "$sources/README.md" | tr -d '`' | sort -u | while read -r header; do
  grep -q "/$header\"" headers.cc || [[ $header == aitune*.h ]] ||
    die "README names $header, which no program here includes"
done
PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export PKG_CONFIG_PATH
${CXX:-c++} -std=c++17 -o headers headers.cc $(pkg-config --cflags --libs aitune-cxx) \
  -Wl,-rpath,"$prefix/lib"
./headers "$model.pt" || die "headers: exit $?"
# LibTorch's CMake package has programs link libtorch.so first, which exports a
# std::filesystem of its own.
cat >checkpoint.cc <<'P'
#include "frontend/api/module.h"
int main(int, char** arguments) {
  return ait::Module::LoadCheckpoint(arguments[1]).ok() ? 0 : 1;
}
P
${CXX:-c++} -std=c++17 -o with_torch checkpoint.cc -Wl,--no-as-needed -ltorch \
  $(pkg-config --cflags --libs aitune-cxx) -Wl,-rpath,"$prefix/lib"
readelf -d with_torch | grep -q 'libtorch\.so' || die "libtorch.so is not linked"
./with_torch mlp.aitune || die "beside libtorch.so: exit $?"

# The C ABI: exactly the functions of the list, which are those of the header.
# A function that leaves it, or changes, is a new AIT_API_VERSION.
version=$(sed -n 's/^#define AIT_API_VERSION //p' "$prefix/include/aitune/aitune_types.h")
[[ $(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p') == "libaitune.so.$version" ]] ||
  die "the soname is not of version $version"
nm -D --defined-only "$library" | sed -n "s/.* \(ait_[a-z_]*\)@@AITUNE_$version\$/\1/p" | sort >functions.txt
diff "$symbols" functions.txt >&2 || die "the functions of the C API are not those of symbols.txt"
cat "$prefix"/include/aitune/*.h | tr '\n' ' ' | grep -oE 'AIT_API [^;]*;' | grep -v '^AIT_API __' |
  grep -oE '\<ait_[a-z_]*\(' | tr -d '(' | sort -u >declared.txt
diff "$symbols" declared.txt >&2 || die "the functions of aitune.h are not those of symbols.txt"

nm -DC --defined-only --without-symbol-versions "$library" | cut -d' ' -f3- | grep -v '^AITUNE_' >exports.txt
grep -q '^ait_module_run$' exports.txt || die "the C API is not exported"
python3 "$declared" "$library" "$prefix/include/aitune/cxx" >missing.txt ||
  die "installed headers declare these, which the library does not export: $(<missing.txt)"
! grep -v -E '^(ait_|ait::|aitune::|(typeinfo|vtable) for (ait|aitune)::)' exports.txt ||
  die "these are exported, and should not be"
