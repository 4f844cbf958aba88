// What tuning found, as JSON and as one HTML page.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "frontend/module/module.h"

namespace ait {
namespace {

using aitune::BackendReport;
using aitune::TimedBatch;
using nlohmann::json;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string NameOf(const BackendReport& backend) {
  return backend.is_eager ? "eager" : backend.description;
}

constexpr char kStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;"
    "padding:0 1em;color:#222}table{border-collapse:collapse;margin:1em 0}"
    "th,td{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:left;"
    "vertical-align:top}td.n,th.n{text-align:right;"
    "font-variant-numeric:tabular-nums}.chosen{font-weight:600}"
    "svg{display:block;margin:.5em 0}.reason{color:#666}";
constexpr const char* kColors[] = {"#999",    "#2a6fb0", "#c8692b",
                                   "#3d8f5b", "#8a5bb0", "#b03a5b"};

// One bar a backend and batch size, with the interval of the median.
std::string TimingPlot(const std::vector<BackendReport>& backends) {
  constexpr int kLeft = 190, kWidth = 480, kRow = 20;
  double longest = 0;
  std::vector<int64_t> batches;
  for (const BackendReport& backend : backends) {
    for (const TimedBatch& timing : backend.timings) {
      longest = std::max(longest, timing.latency.median_high / timing.batch);
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
          return kLeft + kWidth * (milliseconds / batch) / longest;
        };
        absl::StrAppendFormat(
            &rows,
            "<text x='%d' y='%d' text-anchor='end'>%s</text>"
            "<rect x='%d' y='%d' width='%.1f' height='12' fill='%s'/>"
            "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#222'/>"
            "<text x='%.1f' y='%d'>%.3g ms</text>",
            kLeft - 8, y + 14,
            Escaped(
                NameOf(backends[i]).substr(0, NameOf(backends[i]).find('('))),
            kLeft, y + 4, x(timing.latency.median) - kLeft,
            kColors[i % std::size(kColors)], x(timing.latency.median_low),
            x(timing.latency.median_high), y + 10, y + 10,
            x(timing.latency.median_high) + 6, y + 14, timing.latency.median);
        y += kRow;
      }
    }
  }
  return absl::StrFormat(
      "<h2>Time of an item</h2><svg width='%d' height='%d' "
      "font-size='12' role='img' aria-label='median time of an item by backend "
      "and batch size'>%s</svg><p class='reason'>Bars: the median of a call "
      "over its batch size; lines: its bounds at 95 %% confidence.</p>",
      kLeft + kWidth + 110, y, rows);
}

std::string BackendTable(const std::vector<BackendReport>& backends) {
  std::string rows;
  for (const BackendReport& backend : backends) {
    absl::StrAppend(&rows, "<tr", backend.chosen ? " class='chosen'" : "",
                    "><td>", Escaped(NameOf(backend)), "</td><td>",
                    backend.chosen ? "chosen" : "", "<span class='reason'>",
                    Escaped(backend.reason), "</span></td></tr>");
    for (const TimedBatch& timing : backend.timings)
      absl::StrAppendFormat(
          &rows,
          "<tr><td></td><td>batch %d: median %.3f ms (%.3f .. %.3f), p99 %.3f "
          "ms, %.1f items/s</td></tr>",
          timing.batch, timing.latency.median, timing.latency.median_low,
          timing.latency.median_high, timing.latency.p99, timing.throughput());
  }
  return rows.empty() ? ""
                      : absl::StrCat(
                            "<h2>Backends</h2><table><tr><th>backend"
                            "</th><th>outcome</th></tr>",
                            rows, "</table>");
}

std::string SubmoduleTable(
    const std::vector<aitune::frontend::SubmoduleTime>& submodules) {
  if (submodules.empty()) return "";
  std::string rows;
  for (const aitune::frontend::SubmoduleTime& time : submodules) {
    absl::StrAppendFormat(
        &rows,
        "<tr><td>%s</td><td>%s</td><td class='n'>%.3f</td><td "
        "class='n'>%.1f %%</td><td><svg width='160' height='12' "
        "role='presentation'><rect width='%.1f' height='12' "
        "fill='#2a6fb0'/></svg></td></tr>",
        time.path.empty() ? "(model)" : Escaped(time.path), Escaped(time.type),
        time.milliseconds, 100 * time.share, 160 * time.share);
  }
  return absl::StrCat(
      "<h2>Submodules, in eager</h2><table><tr><th>submodule</th><th>class"
      "</th><th class='n'>ms</th><th class='n'>share</th><th></th></tr>",
      rows, "</table>");
}

}  // namespace

std::string ReportJson(const TuneReport& report) {
  json object = {{"schema", 1},
                 {"module", report.module},
                 {"strategy", report.strategy},
                 {"inputs", report.inputs},
                 {"error", report.error},
                 {"backends", json::array()},
                 {"submodules", json::array()}};
  for (const BackendReport& backend : report.backends) {
    json timings = json::array();
    for (const TimedBatch& timing : backend.timings) {
      timings.push_back({{"batch", timing.batch},
                         {"median_ms", timing.latency.median},
                         {"median_low_ms", timing.latency.median_low},
                         {"median_high_ms", timing.latency.median_high},
                         {"p99_ms", timing.latency.p99},
                         {"items_per_second", timing.throughput()}});
    }
    object["backends"].push_back({{"description", backend.description},
                                  {"key", backend.key},
                                  {"eager", backend.is_eager},
                                  {"chosen", backend.chosen},
                                  {"reason", backend.reason},
                                  {"timings", timings}});
  }
  for (const aitune::frontend::SubmoduleTime& time : report.submodules) {
    object["submodules"].push_back({{"path", time.path},
                                    {"type", time.type},
                                    {"milliseconds", time.milliseconds},
                                    {"share", time.share}});
  }
  return object.dump(1, ' ', false, json::error_handler_t::replace);
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
      SubmoduleTable(report.submodules), "</body></html>\n");
}

}  // namespace ait
