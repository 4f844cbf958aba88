// The quantised layers of a report: what each gains, and the error it makes.
#ifndef AITUNE_FRONTEND_API_LAYER_REPORT_H_
#define AITUNE_FRONTEND_API_LAYER_REPORT_H_

#include <string>
#include <vector>

#include "compiler/Compiler.h"
#include "frontend/json/json_writer.h"

namespace ait {

// A table with two bars for each layer: how many times as fast it is quantised,
// and the decibels that its results keep. Empty without layers. Thread-safe.
std::string LayerTableHtml(const std::vector<aitune::QuantizedLayer>& layers);

// Writes an array of an object for each layer; what was not measured is left
// out.
void WriteLayers(const std::vector<aitune::QuantizedLayer>& layers,
                 aitune::frontend::JsonWriter& json);

}  // namespace ait

#endif  // AITUNE_FRONTEND_API_LAYER_REPORT_H_
