#!/bin/bash
# Installs AITune beside this file and builds both programs, tunes an example model from C++, and
# serves it from C with one thread and with two: prints a table, and leaves the
# figures in serving.json.
#
#   examples/serving/run.sh [NAME INPUT...]     resnet50 "float32[1,3,224,224]"
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
(($#)) || set -- resnet50 "float32[1,3,224,224]"
name=$1
shift
# bazelw makes the models that the arguments of what it runs name.
../../bazelw run //frontend:aitune -- --help "../../.models/$name.pt" >/dev/null
../../bazelw run //frontend/api/package:install -- installed
make
./tune "../../.models/$name.pt" "../../.models/$name.inputs.pt" served.aitune
./serve -n 20 -j serving.json served.aitune "$@"
