#include "study/small_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "models/exit_cost.h"
#include "report/chart.h"

namespace hone::study {
namespace {

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

/// Lists the variants that could be run.
std::vector<const SmallResult*> ran(const SmallReport& report) {
  std::vector<const SmallResult*> results;
  for (const SmallResult& result : report.results) {
    if (result.refused.empty()) results.push_back(&result);
  }
  return results;
}

/// Quotes a text for CSV, which may hold commas and quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string title(const SmallReport& report) {
  return fmt::format("{} on {}, {} threads, {}", report.model, report.data, report.threads,
                     report.machine);
}

}  // namespace

std::optional<double> agreement(const SmallReport& report, const SmallResult& result) {
  const std::vector<int64_t>& wanted = ran(report).front()->labels;
  if (wanted.empty() || wanted.size() != result.labels.size()) return {};
  int64_t same = 0;
  for (size_t i = 0; i < wanted.size(); ++i) same += wanted[i] == result.labels[i];
  return static_cast<double>(same) / static_cast<double>(wanted.size());
}

bool on_front(const SmallReport& report, const SmallResult& result) {
  const auto better = [&](const SmallResult* other) {
    const bool as_good = other->p50_ms <= result.p50_ms && other->peak_bytes <= result.peak_bytes &&
                         other->score >= result.score;
    return as_good && (other->p50_ms < result.p50_ms || other->peak_bytes < result.peak_bytes ||
                       other->score > result.score);
  };
  const std::vector<const SmallResult*> others = ran(report);
  return result.refused.empty() && std::none_of(others.begin(), others.end(), better);
}

std::string to_markdown(const SmallReport& report) {
  const SmallResult& first = *ran(report).front();
  std::string out = fmt::format(
      "{}; {} texts, one at a time for the latency, in batches of 32 for the rate.\n\n"
      "| variant | weights | peak memory | p50 | p99 | texts/s | layers | {} | as {} | front |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
      title(report), first.samples, first.metric, first.variant.name());
  for (const SmallResult* each : ran(report)) {
    const std::optional<double> same = agreement(report, *each);
    out += fmt::format(
        "| {} | {:.1f} MB | {:.1f} MB | {:.2f} ms | {:.2f} ms | {:.0f} | {:.2f} | {:.4f} | {} | {} "
        "|\n",
        each->variant.name(), megabytes(each->model_bytes), megabytes(each->peak_bytes),
        each->p50_ms, each->p99_ms, each->per_second, each->layers, each->score,
        same ? fmt::format("{:.2f}%", 100 * *same) : "", on_front(report, *each) ? "yes" : "");
  }
  out += "\nfront: no other variant is as good in p50, peak memory and score, and better in one.\n";
  for (const SmallResult& each : report.results) {
    if (!each.refused.empty()) {
      out += fmt::format("\n- {}: {}\n", each.variant.name(), each.refused);
    }
  }
  return out;
}

std::string to_csv(const SmallReport& report) {
  std::string out =
      "variant,model_bytes,peak_rss_bytes,p50_ms,p99_ms,samples_per_second,mean_layers,metric,"
      "score,agreement,front,refused\n";
  for (const SmallResult& each : report.results) {
    if (!each.refused.empty()) {
      out += fmt::format("{},,,,,,,,,,,{}\n", each.variant.name(), quoted(each.refused));
      continue;
    }
    const std::optional<double> same = agreement(report, each);
    out += fmt::format("{},{},{},{:.4f},{:.4f},{:.2f},{:.4f},{},{:.6f},{},{},\n",
                       each.variant.name(), each.model_bytes, each.peak_bytes, each.p50_ms,
                       each.p99_ms, each.per_second, each.layers, each.metric, each.score,
                       same ? fmt::format("{:.6f}", *same) : "", on_front(report, each) ? 1 : 0);
  }
  return out;
}

Json to_json(const SmallReport& report) {
  Json variants = Json::array();
  for (const SmallResult& each : report.results) {
    Json entry = to_json(each);
    entry.erase("labels");
    if (each.refused.empty()) {
      const std::optional<double> same = agreement(report, each);
      entry["agreement"] = same ? Json(*same) : Json();
      entry["front"] = on_front(report, each);
    }
    variants.push_back(std::move(entry));
  }
  return {{"model", report.model},     {"data", report.data},
          {"machine", report.machine}, {"threads", report.threads},
          {"variants", variants},      {"baseline", ran(report).front()->variant.name()}};
}

std::string to_svg(const SmallReport& report) {
  report::ScatterChart chart;
  std::vector<const SmallResult*> results = ran(report);
  std::erase_if(results, [](const SmallResult* each) { return !std::isfinite(each->score); });
  chart.text = {.title = fmt::format("{} of {} on {}", ran(report).front()->metric, report.model,
                                     report.data),
                .description =
                    "Variants of one model: score against latency. Circles are as large "
                    "as the peak memory; filled ones are on the front of latency, "
                    "memory and score.",
                .x_label = "ms a text, one at a time (p50); circles: peak memory",
                .y_label = ran(report).front()->metric};
  uint64_t most = 1;
  for (const SmallResult* each : results) most = std::max(most, each->peak_bytes);
  for (const SmallResult* each : results) {
    const double share = static_cast<double>(each->peak_bytes) / static_cast<double>(most);
    const bool front = on_front(report, *each);
    chart.points.push_back(
        {.x = each->p50_ms,
         .y = each->score,
         .label = fmt::format("{}: {:.0f} MB", each->variant.name(), megabytes(each->peak_bytes)),
         .chosen = front,
         .radius = 2 + 10 * std::sqrt(share)});
  }
  std::sort(results.begin(), results.end(), [](const SmallResult* a, const SmallResult* b) {
    return a->p50_ms != b->p50_ms ? a->p50_ms < b->p50_ms : a->score > b->score;
  });
  for (const SmallResult* each : results) {
    if (chart.front.empty() || each->score > chart.front.back().second) {
      chart.front.emplace_back(each->p50_ms, each->score);
    }
  }
  return report::to_svg(chart);
}

void write_report(const SmallReport& report, const std::string& folder) {
  OutputFolder out(folder);
  write_file(out.partial() + "/report.md", to_markdown(report));
  write_file(out.partial() + "/report.csv", to_csv(report));
  write_json(out.partial() + "/report.json", to_json(report));
  write_file(out.partial() + "/report.svg", to_svg(report));
  const std::vector<double>& layers = report.results.front().layer_ms;
  if (!layers.empty()) {
    models::write_exit_cost({report.summary, "cpu", report.machine, layers},
                            out.partial() + "/exit_cost.json");
  }
  out.commit();
}

}  // namespace hone::study
