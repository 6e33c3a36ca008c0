#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "cli/doctor_checks.h"
#include "data/records.h"
#include "io/folder.h"
#include "models/folder.h"

namespace hone::cli {
namespace {

using Status = Check::Status;

}  // namespace

std::vector<Check> check_model(const std::string& model) {
  try {
    const models::ModelFolder folder = models::open_model_folder(io::resolve_model(model));
    const models::Family& family = models::family_of(*folder.config);
    const auto processor = family.open_processor(
        *folder.config,
        {.path = folder.path, .model = folder.path, .sentence_length = folder.sentence_length});
    return {
        {"model", Status::ok,
         fmt::format("{}: {}, {} of at most {} {}", folder.path, folder.config->summary(),
                     processor->sample_name(), processor->max_units(), processor->unit_name())}};
  } catch (const Error& error) {
    return {{"model", Status::error, error.what()}};
  }
}

std::vector<Check> check_data(const std::string& file) {
  try {
    const auto records = data::open_records(file, {.format = {}, .need_label = true});
    std::map<std::string, int64_t> labels;
    int64_t rows = 0, empty = 0;
    for (data::Record record; records->next(record); ++rows) {
      empty += record.text.empty() ? 1 : 0;
      if (record.label) ++labels[*record.label];
    }
    if (rows == 0) return {{"data", Status::error, fmt::format("{}: no rows", file)}};
    std::vector<Check> checks = {
        {"data", Status::ok, fmt::format("{}: {} rows, {} labels", file, rows, labels.size())}};
    if (empty > 0) {
      checks.push_back({"empty texts", Status::advice, fmt::format("{}: {} rows", file, empty)});
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(labels.begin(), labels.end(), by_count);
    constexpr int64_t kUneven = 10;
    constexpr size_t kClasses = 100;  // more of them are scores, or names by mistake
    if (labels.size() > 1 && labels.size() <= kClasses && most->second > kUneven * least->second) {
      checks.push_back({"classes", Status::advice,
                        fmt::format("{} rows of {}, {} of {}", most->second, quote(most->first),
                                    least->second, quote(least->first)),
                        "hone train ... --class_weights balanced"});
    }
    return checks;
  } catch (const Error& error) {
    return {{"data", Status::error, error.what()}};
  }
}

}  // namespace hone::cli
