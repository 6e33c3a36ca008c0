#include "models/load.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "models/init.h"
#include "models/stacked_rows.h"
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

namespace {

std::vector<int64_t> shape_of(const nn::Parameter& parameter) {
  const Weight& weight = parameter.weight;
  const auto share = static_cast<int64_t>(parameter.tensors.size());
  if (parameter.kind == nn::ParameterKind::vector) return {weight.width / share};
  return {weight.rows / share, weight.width};
}

/// Finds every parameter's tensors and gathers what is wrong with them.
struct Search {
  const Encoder& encoder;
  const io::Weights& weights;
  std::vector<std::string> new_modules;                  ///< of the head
  std::vector<std::optional<StackedRows>> sources = {};  ///< by slot; empty: made new
  std::set<std::string> used = {};
  std::vector<std::string> problems = {};
  LoadReport report = {};

  Search(const Encoder& to, const io::Weights& from, const LoadOptions& options)
      : encoder(to), weights(from) {
    if (!options.head_seed || !encoder.has_head()) return;
    const WeightNames& names = encoder.family().names;
    const auto labels = static_cast<int64_t>(encoder.config().labels.size());
    const auto find = [&](std::string_view module) {
      return find_tensor(encoder.family(), weights, std::string(module) + ".weight");
    };
    if (!find(names.head_dense)) new_modules.emplace_back(names.head_dense);
    const io::TensorInfo* out = find(names.head_out);
    const bool other_labels = out && out->shape.size() == 2 && out->shape[0] != labels &&
                              out->shape[1] == encoder.config().hidden_size;
    if (!out || other_labels) new_modules.emplace_back(names.head_out);
  }

  bool is_new(const std::string& name) const {
    return std::any_of(new_modules.begin(), new_modules.end(),
                       [&](const std::string& module) { return name.starts_with(module + "."); });
  }

  void find(const nn::Parameter& parameter) {
    if (is_new(parameter.tensors.front())) {
      for (const std::string& name : parameter.tensors) {
        report.fresh.push_back(checkpoint_name(encoder.family(), name));
      }
      sources.emplace_back();
      return;
    }
    const std::vector<int64_t> shape = shape_of(parameter);
    std::vector<TensorSource> parts;
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
        parts.push_back({&weights, tensor});
      }
    }
    sources.emplace_back(StackedRows(std::move(parts), row_width(parameter)));
  }

  void check() {
    if (problems.empty()) return;
    constexpr size_t kShown = 8;
    const size_t more = problems.size() - std::min(problems.size(), kShown);
    problems.resize(problems.size() - more);
    fail(ErrorKind::bad_file, "{}: {}{}", weights.path(), fmt::join(problems, "; "),
         more ? fmt::format("; and {} more", more) : "");
  }

  void list_unexpected() {
    for (const io::TensorInfo& tensor : weights.tensors()) {
      if (!used.contains(tensor.name) && !is_known_extra(encoder.family(), tensor.name)) {
        report.unexpected.push_back(tensor.name);
      }
    }
  }
};

}  // namespace

LoadReport load_weights(Encoder& encoder, const io::Weights& weights, ThreadPool& pool,
                        const LoadOptions& options) {
  nn::Parameters& parameters = encoder.parameters();
  const std::vector<nn::Parameter>& list = parameters.list();
  Search search(encoder, weights, options);
  for (const nn::Parameter& parameter : list) search.find(parameter);
  search.check();

  parameters.allocate();
  pool.run(static_cast<int64_t>(list.size()), [&](int64_t i, int) {
    const auto at = static_cast<size_t>(i);
    const std::optional<StackedRows>& source = search.sources[at];
    if (!source) {
      init_parameter(parameters, list[at], *options.head_seed, encoder.config().initializer_range);
      return;
    }
    store_rows(parameters, list[at],
               [&](int64_t first, int64_t count, float* out) { source->read(first, count, out); });
  });
  search.list_unexpected();
  return std::move(search.report);
}

}  // namespace hone::models
