#include "frontend/api/layer_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace ait {
namespace {

using aitune::QuantizedLayer;

// Pixels of a bar, the speed that fills one, and the decibels that do.
constexpr int kBar = 120;
constexpr double kMostSpeed = 3, kMostDecibels = 60;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// A bar with its number; `mark` is a line at what is neither gain nor loss.
std::string Bar(double value, double most, double mark, const char* color,
                const std::string& text) {
  const auto x = [&](double at) {
    return kBar * std::clamp(at / most, 0.0, 1.0);
  };
  return absl::StrFormat(
      "<td class='n'>%s</td><td><svg width='%d' height='12' "
      "role='presentation'><rect width='%.1f' height='12' fill='%s'/>"
      "<line x1='%.1f' x2='%.1f' y1='0' y2='12' stroke='#222'/></svg></td>",
      text, kBar, x(value), color, x(mark), x(mark));
}

bool IsTimed(const QuantizedLayer& layer) {
  return layer.microseconds > 0 && layer.quantizedMicroseconds > 0;
}

// Of its results, or else of its weight; NaN: neither is known.
double DecibelsOf(const QuantizedLayer& layer) {
  if (!std::isnan(layer.sqnr)) return layer.sqnr;
  return layer.weightSqnr == 0 ? NAN : layer.weightSqnr;
}

}  // namespace

std::string LayerTableHtml(const std::vector<QuantizedLayer>& layers) {
  constexpr char kNothing[] = "<td></td><td></td>";
  std::string rows;
  for (const QuantizedLayer& layer : layers) {
    const char* color = layer.refusal.empty() ? "#2a6fb0" : "#999";
    const double speed = layer.microseconds / layer.quantizedMicroseconds;
    const double decibels = DecibelsOf(layer);
    absl::StrAppendFormat(
        &rows,
        "<tr><td>%s</td><td class='n'>%d&times;%d</td><td>%s</td>%s%s"
        "<td class='reason'>%s</td></tr>",
        Escaped(layer.layer), layer.k, layer.n,
        layer.refusal.empty() ? Escaped(layer.scheme) : "&ndash;",
        IsTimed(layer)
            ? Bar(speed, kMostSpeed, 1, color, absl::StrFormat("%.2f", speed))
            : kNothing,
        std::isnan(decibels) ? kNothing
                             : Bar(decibels, kMostDecibels, 0, color,
                                   absl::StrFormat("%.1f", decibels)),
        Escaped(layer.refusal));
  }
  if (rows.empty()) return "";
  return absl::StrCat(
      "<table><tr><th>layer</th><th class='n'>K&times;N</th><th>scheme</th>"
      "<th class='n'>times as fast</th><th></th><th class='n'>dB kept</th>"
      "<th></th><th>left alone because</th></tr>",
      rows, "</table>");
}

void WriteLayers(const std::vector<QuantizedLayer>& layers,
                 aitune::frontend::JsonWriter& json) {
  json.BeginArray();
  for (const QuantizedLayer& layer : layers) {
    json.BeginObject();
    json.Member("layer", layer.layer);
    json.Member("k", layer.k);
    json.Member("n", layer.n);
    if (layer.weightSqnr != 0) json.Member("weight_sqnr_db", layer.weightSqnr);
    if (!std::isnan(layer.sqnr)) {
      json.Member("sqnr_db", layer.sqnr);
      json.Member("low_sqnr_db", layer.lowSqnr);
    }
    if (IsTimed(layer)) {
      json.Member("microseconds", layer.microseconds);
      json.Member("quantized_microseconds", layer.quantizedMicroseconds);
    }
    if (layer.refusal.empty())
      json.Member("scheme", layer.scheme);
    else
      json.Member("refusal", layer.refusal);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace ait
