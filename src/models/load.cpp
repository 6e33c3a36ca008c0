#include "models/load.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "base/error.h"
#include "models/store.h"

namespace hone::models {
namespace {

/// Old TensorFlow conversions call a norm's weight gamma and its bias beta.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNormNames = {
    {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};

std::string with_ending(const std::string& name, std::string_view from, std::string_view to) {
  return name.substr(0, name.size() - from.size()) + std::string(to);
}

/// Empty where there is none.
std::string old_norm_name(const std::string& name) {
  for (const auto& [now, then] : kNormNames) {
    if (name.ends_with(now)) return with_ending(name, now, then);
  }
  return "";
}

/// The tensors of one parameter, seen as one matrix of stacked rows.
class StackedRows {
 public:
  StackedRows(const io::Weights& weights, std::vector<const io::TensorInfo*> parts, int64_t width)
      : weights_(weights), parts_(std::move(parts)), width_(width) {}

  void read(int64_t first, int64_t count, float* out) const {
    for (const io::TensorInfo* part : parts_) {
      const int64_t rows = part->elements / width_;
      if (first < rows && count > 0) {
        const int64_t taken = std::min(count, rows - first);
        weights_.read(*part, first * width_, taken * width_, out);
        check_finite(*part, out, taken * width_);
        out += taken * width_;
        count -= taken;
        first += taken;
      }
      first -= rows;
    }
  }

 private:
  void check_finite(const io::TensorInfo& part, const float* values, int64_t count) const {
    // Exponent bits all set is infinity or NaN; one pass without branches, so that it vectorises.
    bool bad = false;
    for (int64_t i = 0; i < count; ++i) {
      bad |= (std::bit_cast<uint32_t>(values[i]) & 0x7f800000u) == 0x7f800000u;
    }
    if (!bad) return;
    const float value =
        *std::find_if(values, values + count, [](float each) { return !std::isfinite(each); });
    fail(ErrorKind::bad_file, "{}: {}: holds a value that is not finite: {}",
         weights_.file_of(part), part.name, value);
  }

  const io::Weights& weights_;
  std::vector<const io::TensorInfo*> parts_;
  int64_t width_;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Weights that checkpoints carry and no classifier needs, or that are a head's which an encoder
/// does not have: not worth a word.
bool is_known_extra(const Family& family, const std::string& name) {
  for (const std::string_view head : {family.names.head_dense, family.names.head_out}) {
    if (name.starts_with(std::string(head) + ".")) return true;
  }
  return name.ends_with("position_ids") || name.ends_with("position_embeddings.weight") ||
         name.find("cls.") == 0 || name.find("lm_head.") == 0 || name.find("vocab_") == 0 ||
         name.find("predictions.") == 0 || name.find("sop_classifier.") == 0 ||
         name.find("pooler.") != std::string::npos;
}

}  // namespace

std::string modern_name(const std::string& name) {
  for (const auto& [now, then] : kNormNames) {
    if (name.ends_with(then)) return with_ending(name, then, now);
  }
  return name;
}

const io::TensorInfo* find_tensor(const Family& family, const io::Weights& weights,
                                  const std::string& name) {
  const std::string old = old_norm_name(name);
  for (const std::string& spelling : {name, old}) {
    if (spelling.empty()) continue;
    for (const std::string& prefix : {std::string(family.prefix), std::string()}) {
      if (const io::TensorInfo* found = weights.find(prefix + spelling)) return found;
    }
  }
  return nullptr;
}

bool has_head_weights(const Family& family, const io::Weights& weights) {
  return find_tensor(family, weights, std::string(family.names.head_out) + ".weight") != nullptr;
}

LoadReport load_weights(Encoder& encoder, const io::Weights& weights, ThreadPool& pool) {
  nn::Parameters& parameters = encoder.parameters();
  std::vector<std::string> problems;
  std::set<std::string> used;
  std::vector<StackedRows> sources;
  for (const nn::Parameter& parameter : parameters.list()) {
    std::vector<const io::TensorInfo*> parts;
    const Weight& weight = parameter.weight;
    const auto share = static_cast<int64_t>(parameter.tensors.size());
    const std::vector<int64_t> shape =
        parameter.kind == nn::ParameterKind::vector
            ? std::vector<int64_t>{weight.width / share}
            : std::vector<int64_t>{weight.rows / share, weight.width};
    for (const std::string& name : parameter.tensors) {
      const io::TensorInfo* tensor = find_tensor(encoder.family(), weights, name);
      if (!tensor) {
        problems.push_back(name + " is missing");
      } else if (tensor->shape != shape) {
        problems.push_back(fmt::format("{} has shape {} where the config asks for {}", tensor->name,
                                       shape_text(tensor->shape), shape_text(shape)));
      } else if (!is_floating(tensor->dtype)) {
        problems.push_back(fmt::format("{} is {}", tensor->name, dtype_name(tensor->dtype)));
      } else {
        used.insert(tensor->name);
        parts.push_back(tensor);
      }
    }
    sources.emplace_back(weights, std::move(parts), row_width(parameter));
  }
  if (!problems.empty()) {
    constexpr size_t kShown = 8;
    const size_t more = problems.size() - std::min(problems.size(), kShown);
    problems.resize(problems.size() - more);
    fail(ErrorKind::bad_file, "{}: {}{}", weights.path(), fmt::join(problems, "; "),
         more ? fmt::format("; and {} more", more) : "");
  }

  parameters.allocate();
  const std::vector<nn::Parameter>& list = parameters.list();
  pool.run(static_cast<int64_t>(list.size()), [&](int64_t i, int) {
    const auto at = static_cast<size_t>(i);
    store_rows(parameters, list[at], [&](int64_t first, int64_t count, float* out) {
      sources[at].read(first, count, out);
    });
  });

  LoadReport report;
  for (const io::TensorInfo& tensor : weights.tensors()) {
    if (!used.contains(tensor.name) && !is_known_extra(encoder.family(), tensor.name)) {
      report.unexpected.push_back(tensor.name);
    }
  }
  return report;
}

}  // namespace hone::models
