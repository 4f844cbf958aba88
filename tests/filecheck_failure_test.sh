#!/bin/bash
# Each of these files must make the runner fail, and say why.
set -u
runner=$1
shift

expect_failure() { # name, content, what the runner must say
  local file=$1.txt output
  printf '%s\n' "$2" >"$file"
  if output=$("$runner" "$file" "${programs[@]}" 2>&1); then
    echo "$1: passed, should fail"
    exit 1
  fi
  if [[ $output != *"$3"* ]]; then
    echo "$1: expected '$3' in: $output"
    exit 1
  fi
}

programs=("$@")
cd "$TEST_TMPDIR" || exit 1
runner=$OLDPWD/$runner
for i in "${!programs[@]}"; do
  ln -sf "$OLDPWD/${programs[i]}" "$(basename "${programs[i]}")"
  programs[i]=$(basename "${programs[i]}")
done

expect_failure none "// nothing to run" "has no RUN line"
expect_failure command "// RUN: false" "FAILED: command.txt: false"
expect_failure pipe "// RUN: false | cat" "FAILED: pipe.txt"
expect_failure second $'// RUN: true\n// RUN: false' "FAILED: second.txt: false"
expect_failure open '// RUN: true \' "ends in a backslash"
expect_failure check $'// RUN: echo one | FileCheck %s\n// CHECK: two' \
  "expected string not found"
expect_failure not "// RUN: not true" "FAILED: not.txt"

printf '// RUN: echo one | FileCheck %%s\n// CHECK: one\n' >good.txt
"$runner" good.txt "${programs[@]}"
