#!/bin/bash
# coverage_test.sh README SOURCE...: each test that README names must be in one
# of the sources, and each test of backends_test.cc in README. The table by
# number has each statement once, with a verdict, and a test if it is true.
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
numbers=$(for letter in B:36 I:27 O:10 G:14 C:26 D:9; do
  seq -f "${letter%:*}%g" "${letter#*:}"
done | sort)
rows=$(grep -E '^\| [A-Z][0-9]+ \|' "$readme")
wrong=$(diff <(echo "$numbers") <(cut -d' ' -f2 <<<"$rows" | sort) || true)
unjudged=$(grep -vE '\| (true \| .*`\w+\.\w+`|in part \| .*`\w+\.\w+`.*; \w|no \| .*; \w|n/a \| \w)' <<<"$rows" || true)
[[ -z $wrong ]] || echo "README.md numbers other statements than there are: $wrong"
[[ -z $unjudged ]] || echo "README.md has no verdict with a reason: $unjudged"
[[ -z $missing$unnamed$wrong$unjudged ]]
