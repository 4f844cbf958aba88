#!/bin/bash
# What CI prints last for Bazel's build events.
set -u
count=$PWD/.ci/count.py
events=$TEST_TMPDIR/events

configured() {
  printf '{"id":{"targetConfigured":{"label":"%s"}},"configured":{"targetKind":"%s rule"}}\n' "$1" "$2"
}
summary() {
  printf '{"id":{"testSummary":{"label":"%s"}},"testSummary":{"overallStatus":"%s"}}\n' "$1" "$2"
}
expect() { # exit code of bazel, all that should be printed
  local output
  output=$(python3 "$count" "$events" "$1")
  [[ $output == "$2" ]] && return
  printf 'FAILED: expected:\n%s\ngot:\n%s\n' "$2" "$output" >&2
  exit 1
}

{
  configured //a:lib cc_library
  configured //a:one cc_test
  configured //a:two sh_test
  summary //a:one PASSED
  summary //a:two FLAKY
} >"$events"
expect 0 "2 passed, 0 failed"
configured //a:unbuilt cc_test >>"$events"
{
  configured //a:broken cc_test
  summary //a:broken FAILED
} >>"$events"
expect 3 $'failed: //a:broken\nfailed: //a:unbuilt\n2 passed, 2 failed'
printf '{"id":{"testSumm' >>"$events"
expect 36 $'failed: //a:broken\nfailed: //a:unbuilt\n2 passed, 2 failed'
{
  summary //a:one PASSED
  printf '{"id":{"testSumm'
} >"$events"
expect 36 $'failed: the build itself (exit code 36)\n1 passed, 1 failed'

: >"$events"
expect 1 $'failed: the build itself (exit code 1)\n0 passed, 1 failed'
rm "$events"
expect 37 $'failed: the build itself (exit code 37)\n0 passed, 1 failed'
