// What tuning found, as JSON and as one HTML page.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "frontend/api/layer_report.h"
#include "frontend/api/module.h"
#include "frontend/json/json_writer.h"

namespace ait {
namespace {

using aitune::BackendReport;
using aitune::TimedBatch;
using aitune::frontend::JsonWriter;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      aitune::frontend::ToUtf8(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

constexpr char kStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;"
    "padding:0 1em;color:#222}table{border-collapse:collapse;margin:1em 0}"
    "th,td{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:left;"
    "vertical-align:top}td.n,th.n{text-align:right;"
    "font-variant-numeric:tabular-nums}.chosen{font-weight:600}"
    "td[rowspan]{max-width:22em;overflow-wrap:anywhere}svg{display:block;"
    "margin:.5em 0;"
    "max-width:100%;height:auto}.reason{color:#666;font-weight:400}";
constexpr const char* kColors[] = {"#999",    "#2a6fb0", "#c8692b",
                                   "#3d8f5b", "#8a5bb0", "#b03a5b"};

// What fits beside a bar.
std::string ShortName(const BackendReport& backend) {
  constexpr size_t kMost = 40;
  std::string name = backend.name();
  if (name.size() > kMost) {
    size_t end = kMost - 3;
    const auto continues = [&](size_t i) { return (name[i] & 0xc0) == 0x80; };
    while (end > 0 && continues(end))
      --end;  // a character of UTF-8 stays whole
    name = name.substr(0, end) + "...";
  }
  return Escaped(name);
}

// One bar a backend and batch size, with the interval of the median. All by
// item, so that batch sizes can be compared. The longest median sets the scale;
// an interval that goes on beyond the plot ends in an arrow.
std::string TimingPlot(const std::vector<BackendReport>& backends) {
  constexpr int kLeft = 330, kWidth = 400, kRow = 20;
  double longest = 0;
  std::vector<int64_t> batches;
  for (const BackendReport& backend : backends) {
    for (const TimedBatch& timing : backend.timings) {
      longest = std::max(longest, timing.latency.median / timing.batch);
      if (std::find(batches.begin(), batches.end(), timing.batch) ==
          batches.end())
        batches.push_back(timing.batch);
    }
  }
  if (batches.empty() || longest <= 0) return "";
  std::sort(batches.begin(), batches.end());
  std::string rows;
  int y = 0;
  for (const int64_t batch : batches) {
    absl::StrAppendFormat(
        &rows, "<text x='0' y='%d' font-weight='600'>batch %d</text>", y + 15,
        batch);
    y += kRow;
    for (size_t i = 0; i < backends.size(); ++i) {
      for (const TimedBatch& timing : backends[i].timings) {
        if (timing.batch != batch) continue;
        const auto x = [&](double milliseconds) {
          return kLeft +
                 std::min<double>(
                     kWidth, .8 * kWidth * (milliseconds / batch) / longest);
        };
        const double high = x(timing.latency.median_high);
        absl::StrAppendFormat(
            &rows,
            "<text x='%d' y='%d' text-anchor='end'%s>%s</text>"
            "<rect x='%d' y='%d' width='%.1f' height='12' fill='%s'/>"
            "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#222'/>"
            "<text x='%.1f' y='%d'>%s%.4g ms</text>",
            kLeft - 8, y + 14, backends[i].chosen ? " font-weight='600'" : "",
            ShortName(backends[i]), kLeft, y + 4,
            x(timing.latency.median) - kLeft, kColors[i % std::size(kColors)],
            x(timing.latency.median_low), high, y + 10, y + 10,
            high < kLeft + kWidth ? high + 6 : high - 1, y + 14,
            high < kLeft + kWidth ? "" : "&#9656; ",
            timing.latency.median / batch);
        y += kRow;
      }
    }
  }
  const int width = kLeft + kWidth + 90;
  return absl::StrFormat(
      "<h2>Time of an item</h2><svg width='%d' viewBox='0 0 %d %d' "
      "font-size='12' role='img' aria-label='median time of an item by backend "
      "and batch size'>%s</svg><p class='reason'>Bars and numbers: the median "
      "of a call over its batch size; lines: its bounds at 95 %% "
      "confidence.</p>",
      width, width, y, rows);
}

std::string BackendTable(const std::vector<BackendReport>& backends) {
  std::string rows;
  for (const BackendReport& backend : backends) {
    const std::string name = absl::StrCat(
        "<td rowspan='", std::max<size_t>(1, backend.timings.size()), "'",
        backend.chosen ? " class='chosen'" : "", ">", Escaped(backend.name()),
        "<br>", backend.chosen ? "chosen" : "", "<span class='reason'>",
        Escaped(backend.reason), "</span></td>");
    if (backend.timings.empty())
      absl::StrAppend(&rows, "<tr>", name,
                      "<td colspan='5' class='reason'>not timed</td></tr>");
    bool first = true;
    for (const TimedBatch& timing : backend.timings) {
      absl::StrAppendFormat(
          &rows,
          "<tr>%s<td class='n'>%d</td><td class='n'>%.3f</td>"
          "<td class='n'>%.3f &ndash; %.3f</td><td class='n'>%.3f</td>"
          "<td class='n'>%.1f</td></tr>",
          first ? name : "", timing.batch, timing.latency.median,
          timing.latency.median_low, timing.latency.median_high,
          timing.latency.p99, timing.throughput());
      first = false;
    }
  }
  return rows.empty()
             ? ""
             : absl::StrCat(
                   "<h2>Backends</h2><table><tr><th>backend</th>"
                   "<th class='n'>batch</th><th class='n'>median ms</th>"
                   "<th class='n'>median, 95 %</th><th class='n'>p99 ms</th>"
                   "<th class='n'>items/s</th></tr>",
                   rows, "</table>");
}

std::string NoteLists(const std::vector<BackendReport>& backends) {
  std::string lists;
  for (const BackendReport& backend : backends) {
    if (backend.notes.empty()) continue;
    absl::StrAppend(&lists, "<p>", Escaped(backend.name()), "</p><ul>");
    for (const std::string& note : backend.notes)
      absl::StrAppend(&lists, "<li>", Escaped(note), "</li>");
    absl::StrAppend(&lists, "</ul>");
  }
  return lists.empty() ? "" : absl::StrCat("<h2>Notes</h2>", lists);
}

// The backend's layers, of each of its versions that has some.
std::vector<std::vector<aitune::QuantizedLayer>> LayersOf(
    const TuneReport& report, const BackendReport& backend) {
  std::vector<std::vector<aitune::QuantizedLayer>> layers;
  for (const BackendDetails& details : report.details) {
    if (details.key != backend.key) continue;
    for (const aitune::frontend::BuiltVersion& version : details.versions) {
      if (!version.report.quantized_layers.empty())
        layers.push_back(version.report.quantized_layers);
    }
  }
  return layers;
}

std::string LayerTables(const TuneReport& report) {
  std::string tables;
  for (const BackendReport& backend : report.backends) {
    for (const auto& layers : LayersOf(report, backend))
      absl::StrAppend(&tables, "<p>", Escaped(backend.name()), "</p>",
                      LayerTableHtml(layers));
  }
  return tables.empty() ? ""
                        : absl::StrCat("<h2>Quantised layers</h2>", tables);
}

using aitune::frontend::SubmoduleTime;

// The rows of a table, with a bar each: its share of the model's time in eager,
// and in it what the compiled code takes of that.
std::string SubmoduleRows(const std::vector<const SubmoduleTime*>& submodules,
                          double whole) {
  std::string rows;
  for (const SubmoduleTime* time : submodules) {
    std::string compiled = "<td></td><td></td>", bar;
    if (time->compiled_milliseconds) {
      const double ours = *time->compiled_milliseconds;
      compiled = absl::StrFormat(
          "<td class='n'>%.3f</td><td class='n'>%s</td>", ours,
          ours > 0 ? absl::StrFormat("%.2fx", time->milliseconds / ours) : "");
      bar = absl::StrFormat("<rect width='%.1f' height='12' fill='%s'/>",
                            whole > 0 ? 160 * std::min(ours / whole, 1.0) : 0.0,
                            kColors[1]);
    }
    absl::StrAppendFormat(
        &rows,
        "<tr><td>%s</td><td>%s</td><td class='n'>%.3f</td><td class='n'>%.1f "
        "%%</td>%s<td><svg width='160' height='12' role='presentation'><rect "
        "width='%.1f' height='12' fill='%s'/>%s</svg></td></tr>",
        time->path.empty() ? "(model)" : Escaped(time->path),
        Escaped(time->type), time->milliseconds, 100 * time->share, compiled,
        160 * time->share, kColors[0], bar);
  }
  return absl::StrCat(
      "<table><tr><th>submodule</th><th>class</th><th class='n'>ms in eager"
      "</th><th class='n'>share</th><th class='n'>ms compiled</th><th "
      "class='n'>faster</th><th></th></tr>",
      rows, "</table>");
}

// The model and its children; what is in a child is folded.
std::string SubmoduleTable(const std::vector<SubmoduleTime>& submodules) {
  if (submodules.empty()) return "";
  const auto child_of_model = [](const std::string& path) {
    return path.substr(0, path.find('.'));
  };
  std::vector<const SubmoduleTime*> first;
  std::map<std::string, std::vector<const SubmoduleTime*>> inner;
  for (const SubmoduleTime& time : submodules) {
    const std::string child = child_of_model(time.path);
    (child == time.path ? first : inner[child]).push_back(&time);
  }
  const double whole = submodules.front().milliseconds;
  std::string text = absl::StrCat(
      "<h2>Submodules</h2><p>A bar is the time in eager, its blue part that of "
      "the compiled code. A kernel counts for the submodule of its main "
      "operator.</p>",
      SubmoduleRows(first, whole));
  for (const auto& [child, times] : inner)
    absl::StrAppend(&text, "<details><summary>in ", Escaped(child),
                    "</summary>", SubmoduleRows(times, whole), "</details>");
  return text;
}

void WriteBackend(const TuneReport& report, const BackendReport& backend,
                  JsonWriter& json) {
  json.BeginObject();
  json.Member("description", backend.description);
  json.Member("key", backend.key);
  json.Member("eager", backend.is_eager);
  json.Member("chosen", backend.chosen);
  json.Member("reason", backend.reason);
  json.Key("notes");
  json.BeginArray();
  for (const std::string& note : backend.notes) json.Value(note);
  json.EndArray();
  json.Key("timings");
  json.BeginArray();
  for (const TimedBatch& timing : backend.timings) {
    json.BeginObject();
    json.Member("batch", timing.batch);
    json.Member("median_ms", timing.latency.median);
    json.Member("median_low_ms", timing.latency.median_low);
    json.Member("median_high_ms", timing.latency.median_high);
    json.Member("p99_ms", timing.latency.p99);
    json.Member("items_per_second", timing.throughput());
    json.EndObject();
  }
  json.EndArray();
  const auto versions = LayersOf(report, backend);
  if (!versions.empty()) {
    json.Key("quantized_layers");
    json.BeginArray();
    for (const auto& layers : versions) WriteLayers(layers, json);
    json.EndArray();
  }
  json.EndObject();
}

}  // namespace

std::string ReportJson(const TuneReport& report) {
  JsonWriter json(/*indented=*/true);
  json.BeginObject();
  json.Member("schema", 1);
  json.Member("module", report.module);
  json.Member("strategy", report.strategy);
  json.Member("inputs", report.inputs);
  json.Member("error", report.error);
  json.Key("backends");
  json.BeginArray();
  for (const BackendReport& backend : report.backends)
    WriteBackend(report, backend, json);
  json.EndArray();
  json.Key("submodules");
  json.BeginArray();
  for (const SubmoduleTime& time : report.submodules) {
    json.BeginObject();
    json.Member("path", time.path);
    json.Member("type", time.type);
    json.Member("milliseconds", time.milliseconds);
    json.Member("share", time.share);
    if (time.compiled_milliseconds)
      json.Member("compiled_milliseconds", *time.compiled_milliseconds);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

std::string ReportHtml(const TuneReport& report) {
  const std::string title = Escaped(report.module);
  std::string head =
      report.error.empty()
          ? ""
          : absl::StrCat("<p>Runs in eager: ", Escaped(report.error), "</p>");
  if (!report.strategy.empty())
    absl::StrAppend(&head, "<p>Strategy: ", Escaped(report.strategy), "</p>");
  if (!report.inputs.empty())
    absl::StrAppend(&head, "<p>Inputs: <code>", Escaped(report.inputs),
                    "</code></p>");
  return absl::StrCat(
      "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
      "<meta name='viewport' content='width=device-width'><title>",
      title, "</title><style>", kStyle, "</style></head><body><h1>", title,
      "</h1>", head, TimingPlot(report.backends), BackendTable(report.backends),
      LayerTables(report), NoteLists(report.backends),
      SubmoduleTable(report.submodules), "</body></html>\n");
}

}  // namespace ait
