#!/bin/bash
# Runs the RUN lines of a file: filecheck.sh FILE PROGRAM... See filecheck.bzl.
set -u
file=$1
shift

programs=$TEST_TMPDIR/bin
mkdir -p "$programs"
for program in "$@"; do
  ln -sf "$PWD/$program" "$programs/$(basename "$program")"
done
export PATH=$programs:$PATH

count=0
command=
while IFS= read -r line; do
  [[ $line =~ ^[[:space:]]*(//|#|;)[[:space:]]*RUN:[[:space:]]*(.*)$ ]] || continue
  line=${BASH_REMATCH[2]}
  if [[ $line == *\\ ]]; then
    command+="${line%\\} "
    continue
  fi
  command+=$line
  command=${command//%s/$PWD/$file}
  command=${command//%S/$PWD/$(dirname "$file")}
  command=${command//%t/$TEST_TMPDIR/$(basename "$file").tmp}
  count=$((count + 1))
  if ! bash -o pipefail -c "$command"; then
    echo "FAILED: $file: $command" >&2
    exit 1
  fi
  command=
done <"$file"

if [[ -n $command ]]; then
  echo "FAILED: $file: its last RUN line ends in a backslash" >&2
  exit 1
fi
if ((count == 0)); then
  echo "FAILED: $file has no RUN line" >&2
  exit 1
fi
