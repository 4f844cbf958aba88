#!/bin/bash
# Makes a copy of aitune for a machine that has LibTorch but neither LLVM nor
# Abseil nor protobuf: links those statically, without debug information, and
# packs the result with oneDNN into the folder OUT.
#
#   ./bazelw build //frontend:aitune && frontend/cli/package.sh OUT [PROGRAM]
#
# PROGRAM is another one that was built, such as a test to run there:
# tests/random_models/random_models_test.
#
# On the other machine: `unxz OUT/*.xz`, and set LD_LIBRARY_PATH to the folder of
# libtorch.so (and, for a GPU, of CUDA's and cuDNN's libraries).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
output=$(realpath -m "${1:?usage: package.sh OUT [PROGRAM]}")
program=${2:-frontend/cli/aitune}
name=$(basename "$program")
parameters=bazel-bin/$program-2.params
[[ -e $parameters ]] || { echo "build $program first" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Debian has no static zstd in its base packages; the shared one comes along.
zstd=$(realpath "$(ls /usr/lib/x86_64-linux-gnu/libzstd.so.1)")
mapfile -t static < <(
  echo -Wl,--start-group
  ls /usr/lib/llvm-22/lib/libMLIR*.a | grep -v -e CAPI -e Test
  ls /usr/lib/llvm-22/lib/libLLVM*.a |
    grep -v -E 'libLLVM(AArch64|AMDGPU|ARM|AVR|BPF|Hexagon|Lanai|LoongArch|Mips|MSP430|NVPTX|PowerPC|RISCV|Sparc|SPIRV|SystemZ|VE|WebAssembly|XCore|M68k|Xtensa)'
  echo -Wl,--end-group
  ls /usr/lib/x86_64-linux-gnu/libabsl_*.a | sed '1i-Wl,--start-group' ; echo -Wl,--end-group
  echo /usr/lib/x86_64-linux-gnu/libprotobuf.a
  echo "$zstd"
  echo -lz
)
grep -v -e '^-labsl' -e '^-lprotobuf' -e 'libLLVM.so' -e 'libMLIR.so' -e '-rpath' -e "^bazel-out/k8-opt/bin/$program\$" -e '^-o$' \
  "$parameters" >"$folder/parameters"
clang++-22 -o "$folder/$name" @"$folder/parameters" "${static[@]}" \
  -Wl,--allow-shlib-undefined -Wl,-rpath,'$ORIGIN' -fuse-ld=lld
strip --strip-debug "$folder/$name"
mkdir -p "$output"
xz -T0 -2 -c "$folder/$name" >"$output/$name.xz"
if [[ ! -e $output/libdnnl.so.3.xz ]]; then
  cp --dereference bazel-bin/_solib_k8/*onednn*/libdnnl.so.3 "$folder/"
  strip "$folder/libdnnl.so.3"
  xz -T0 -6 -c "$folder/libdnnl.so.3" >"$output/libdnnl.so.3.xz"
  xz -c "$zstd" >"$output/libzstd.so.1.xz"
fi
ls -l "$output"
