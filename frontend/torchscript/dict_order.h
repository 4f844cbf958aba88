// Finds programs whose results depend on the order of a dict's keys. A compiled
// model takes the values of a dict by their keys, whatever their order, so that
// such programs need the order that they were compiled for.
#ifndef AITUNE_FRONTEND_TORCHSCRIPT_DICT_ORDER_H_
#define AITUNE_FRONTEND_TORCHSCRIPT_DICT_ORDER_H_

#include "frontend/torchscript/model.h"

namespace aitune::frontend {

// Whether forward does more with a dict than look its keys up and count them:
// it goes through a dict, or passes one on. Thread-safe.
bool SeesDictOrder(const Model& model);

}  // namespace aitune::frontend

#endif  // AITUNE_FRONTEND_TORCHSCRIPT_DICT_ORDER_H_
