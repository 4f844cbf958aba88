#!/bin/bash
# coverage_test.sh README SOURCE...: each test that README names must be in one
# of the sources, and each test of backends_test.cc in README.
set -eu
readme=$1
shift
tests_of() {
  cat "$@" | tr -s '\n ' ' ' |
    grep -oE '\bTEST(_F|_P)?\( ?\w+, ?\w+ ?\)' |
    sed -E 's/.*\( ?(\w+), ?(\w+) ?\)/\1.\2/' | sort -u
}
named=$(grep -oE '`\w+\.\w+`' "$readme" | tr -d '`' | sort -u)
own=$(tests_of "$(dirname "$readme")/backends_test.cc")
(($(wc -l <<<"$named") > 80)) || { echo "the table is not read"; exit 1; }
missing=$(comm -23 <(echo "$named") <(tests_of "$@"))
unnamed=$(comm -13 <(echo "$named") <(echo "$own"))
[[ -z $missing ]] || echo "README.md names tests that there are not: $missing"
[[ -z $unnamed ]] || echo "README.md does not name: $unnamed"
[[ -z $missing$unnamed ]]
