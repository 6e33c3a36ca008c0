#include "models/load.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "models/explainer.h"
#include "models/init.h"
#include "models/int8.h"
#include "models/parser.h"
#include "models/stacked_rows.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

/// Old TensorFlow conversions call a norm's weight gamma and its bias beta.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNormNames = {
    {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};

std::string with_ending(const std::string& name, std::string_view from, std::string_view to) {
  return name.substr(0, name.size() - from.size()) + std::string(to);
}

/// Gives the old name of a norm's tensor, empty where there is none.
std::string old_norm_name(const std::string& name) {
  for (const auto& [now, then] : kNormNames) {
    if (name.ends_with(now)) return with_ending(name, now, then);
  }
  return "";
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool starts_with_module(const std::string& name, const std::string& module) {
  return !module.empty() && name.starts_with(module + ".");
}

/// Says whether a weight is one that checkpoints carry and no classifier needs, or that is a head's
/// which the model does not have: not worth a word.
bool is_known_extra(const Family& family, const std::string& name) {
  if (starts_with_module(name, family.head_dense) || starts_with_module(name, family.head_out)) {
    return true;
  }
  if (family.other_names) {
    for (const std::string& head : family.other_names(family.head_out + ".weight")) {
      if (starts_with_module(name, head.substr(0, head.rfind('.')))) return true;
    }
  }
  return name.ends_with("position_ids") || name.ends_with(kBatchCounter) ||
         name.ends_with("position_embeddings.weight") || name.find("cls.") == 0 ||
         name.find("lm_head.") == 0 || name.find("vocab_") == 0 || name.find("predictions.") == 0 ||
         name.find("sop_classifier.") == 0 || name.find("pooler.") != std::string::npos;
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
  std::vector<std::string> spellings = {name};
  if (const std::string old = old_norm_name(name); !old.empty()) spellings.push_back(old);
  if (family.other_names) {
    for (std::string& other : family.other_names(name)) spellings.push_back(std::move(other));
  }
  for (const std::string& spelling : spellings) {
    for (const std::string& prefix : {family.prefix, std::string()}) {
      if (const io::TensorInfo* found = weights.find(prefix + spelling)) return found;
    }
  }
  return nullptr;
}

bool has_head_weights(const Family& family, const io::Weights& weights, const Adapter* adapter) {
  const std::string name = family.head_out + ".weight";
  return find_tensor(family, weights, name) || weights.find("classifiers.0.weight") ||
         weights.find(std::string(kParserModule) + ".out.weight") ||
         (adapter && adapter->find(family, name));
}

namespace {

/// Finds every parameter's tensors and gathers what is wrong with them.
class Search {
 public:
  Search(const Model& model, const io::Weights& weights, const LoadOptions& options)
      : model_(model), weights_(weights), options_(options) {
    if (options.head_seed && model.has_head()) find_new_modules();
    for (const nn::Parameter& parameter : model.parameters().list()) find(parameter);
    if (options.adapter) check_adapter_used();
    check();
  }

  /// Gives the sources by slot; an empty one is to be made new.
  const std::vector<std::optional<StackedRows>>& sources() const { return sources_; }

  LoadReport report() {
    for (const io::TensorInfo& tensor : weights_.tensors()) {
      if (!used_.contains(tensor.name) && !is_known_extra(model_.family(), tensor.name)) {
        report_.unexpected.push_back(tensor.name);
      }
    }
    return std::move(report_);
  }

 private:
  /// Finds the adapter's tensor, else the checkpoint's; no tensor where there is none.
  TensorSource locate(const std::string& name) const {
    const Family& family = model_.family();
    const io::TensorInfo* own = options_.adapter ? options_.adapter->find(family, name) : nullptr;
    if (own) return {&options_.adapter->weights(), own};
    return {&weights_, find_tensor(family, weights_, name)};
  }

  void find_new_modules() {
    const Family& family = model_.family();
    const auto weight_of = [&](const std::string& module) {
      return locate(module + ".weight").tensor;
    };
    if (!family.head_dense.empty() && !weight_of(family.head_dense)) {
      new_modules_.push_back(family.head_dense);
    }
    const io::TensorInfo* out = weight_of(family.head_out);
    if (!out || has_other_labels(*out)) new_modules_.push_back(family.head_out);
  }

  /// Says whether a checkpoint's output layer differs from the model's by its number of labels
  /// alone.
  bool has_other_labels(const io::TensorInfo& out) const {
    for (const nn::Parameter& parameter : model_.parameters().list()) {
      if (parameter.tensors.front() != model_.family().head_out + ".weight") continue;
      const std::vector<int64_t> shape = nn::tensor_shape(parameter);
      return out.shape.size() == 2 && shape.size() == 2 && out.shape[0] != shape[0] &&
             out.shape[1] == shape[1];
    }
    return false;
  }

  bool fits(const std::string& name, const std::vector<int64_t>& shape) const {
    const io::TensorInfo* tensor = locate(name).tensor;
    return tensor && tensor->shape == shape;
  }

  bool is_new(const std::string& name, const std::vector<int64_t>& shape) const {
    if (nn::is_lora(name)) return options_.head_seed && !options_.adapter;
    if (is_exit_weight(name) || is_parser_weight(name) || is_explain_weight(name))
      return options_.head_seed && !fits(name, shape);
    return std::any_of(new_modules_.begin(), new_modules_.end(),
                       [&](const std::string& module) { return name.starts_with(module + "."); });
  }

  void find(const nn::Parameter& parameter) {
    const std::string& first = parameter.tensors.front();
    const std::vector<int64_t> shape = nn::tensor_shape(parameter);
    if (is_new(first, shape)) {
      for (const std::string& name : parameter.tensors) {
        if (!nn::is_lora(name)) report_.fresh.push_back(checkpoint_name(model_.family(), name));
      }
      sources_.emplace_back();
      report_.added.push_back(true);
      return;
    }
    std::vector<TensorSource> parts;
    bool added = false;
    for (const std::string& name : parameter.tensors) {
      TensorSource source = locate(name);
      added |= source.weights != &weights_;
      if (!check(name, source, shape)) continue;
      if (!parameter.norm.empty()) fold_norm(parameter, source);
      parts.push_back(with_delta(name, source, shape));
    }
    sources_.emplace_back(StackedRows(std::move(parts), row_width(parameter)));
    report_.added.push_back(added);
  }

  bool check(const std::string& name, TensorSource& source, const std::vector<int64_t>& shape) {
    const io::TensorInfo* tensor = source.tensor;
    if (!tensor) {
      problems_.push_back(name + " is missing");
    } else if (tensor->shape != shape) {
      problems_.push_back(fmt::format("{} has shape {} where the config asks for {}", tensor->name,
                                      shape_text(tensor->shape), shape_text(shape)));
    } else if (tensor->dtype == DType::i8 && shape.size() == 2) {
      return find_scales(source);
    } else if (!is_floating(tensor->dtype)) {
      problems_.push_back(fmt::format("{} is {}", tensor->name, dtype_name(tensor->dtype)));
    } else {
      used_.insert(tensor->name);
      return true;
    }
    return false;
  }

  /// Has a source take in the norm that its parameter names.
  void fold_norm(const nn::Parameter& parameter, TensorSource& source) {
    const auto find = [&](const char* name) -> const io::TensorInfo* {
      TensorSource found = locate(parameter.norm + name);
      return check(parameter.norm + name, found, {nn::row_count(parameter)}) ? found.tensor
                                                                             : nullptr;
    };
    const NormTensors norm{find(".weight"), find(".running_mean"), find(".running_var")};
    if (!norm.weight || !norm.running_mean || !norm.running_var) return;
    source.transform = std::make_shared<RowTransform>(
        parameter.is_vector() ? fold_into_bias(weights_, norm) : fold_into_rows(weights_, norm));
  }

  TensorSource with_delta(const std::string& name, TensorSource source,
                          const std::vector<int64_t>& shape) {
    if (!options_.adapter || model_.lora()) return source;
    const Adapter& adapter = *options_.adapter;
    source.delta = adapter.delta(model_.family(), name, shape);
    if (!source.delta) return source;
    const std::string module = name.substr(0, name.rfind('.'));
    used_.insert(adapter.find(model_.family(), module + nn::kLoraA)->name);
    used_.insert(adapter.find(model_.family(), module + nn::kLoraB)->name);
    return source;
  }

  /// Fails where what an adapter changes is not there to be changed; an encoder without its head
  /// may leave the head's.
  void check_adapter_used() {
    for (const io::TensorInfo& tensor : options_.adapter->weights().tensors()) {
      if (used_.contains(tensor.name)) continue;
      const std::string name = adapted_name(tensor);
      const bool known = is_known_extra(model_.family(), name) || is_head(model_.family(), name);
      const bool head = known && !model_.has_head();
      if (!head) problems_.push_back(fmt::format("{} has no place in the model", tensor.name));
    }
  }

  /// Finds the scales that a tensor of bytes comes with.
  bool find_scales(TensorSource& source) {
    const io::TensorInfo& tensor = *source.tensor;
    const io::TensorInfo* scales = source.weights->find(tensor.name + kScaleEnding);
    if (!scales) {
      problems_.push_back(
          fmt::format("{} is int8 and {}{} is missing", tensor.name, tensor.name, kScaleEnding));
    } else if (scales->shape != std::vector{tensor.shape[0]} || !is_floating(scales->dtype)) {
      problems_.push_back(fmt::format("{} has shape {} in {} where {} numbers are needed",
                                      scales->name, shape_text(scales->shape),
                                      dtype_name(scales->dtype), tensor.shape[0]));
    } else {
      used_.insert(tensor.name);
      used_.insert(scales->name);
      source.scales = scales;
    }
    return source.scales != nullptr;
  }

  void check() {
    if (problems_.empty()) return;
    constexpr size_t kShown = 8;
    const size_t more = problems_.size() - std::min(problems_.size(), kShown);
    problems_.resize(problems_.size() - more);
    const std::string& file =
        options_.adapter ? options_.adapter->weights().path() : weights_.path();
    fail(ErrorKind::bad_file, "{}: {}{}", file, fmt::join(problems_, "; "),
         more ? fmt::format("; and {} more", more) : "");
  }

  const Model& model_;
  const io::Weights& weights_;
  const LoadOptions& options_;
  std::vector<std::string> new_modules_;  ///< modules of the head that were made new
  std::vector<std::optional<StackedRows>> sources_;
  std::set<std::string> used_;
  std::vector<std::string> problems_;
  LoadReport report_;
};

}  // namespace

LoadReport preview_load(const Model& model, const io::Weights& weights,
                        const LoadOptions& options) {
  return Search(model, weights, options).report();
}

WeightSources find_sources(const Model& model, const io::Weights& weights, const Adapter* adapter) {
  const LoadOptions options{.adapter = adapter};
  Search search(model, weights, options);
  WeightSources sources;
  for (const std::optional<StackedRows>& rows : search.sources()) sources.rows.push_back(*rows);
  sources.report = search.report();
  return sources;
}

LoadReport load_weights(Model& model, const io::Weights& weights, ThreadPool& pool,
                        const LoadOptions& options) {
  Search search(model, weights, options);
  nn::Parameters& parameters = model.parameters();
  const std::vector<nn::Parameter>& list = parameters.list();
  parameters.allocate();
  pool.run(static_cast<int64_t>(list.size()), [&](int64_t i, int) {
    const auto at = static_cast<size_t>(i);
    const std::optional<StackedRows>& source = search.sources()[at];
    if (!source) {
      init_parameter(model, list[at], *options.head_seed, model.config().initializer_range);
      return;
    }
    store_rows(parameters, list[at],
               [&](int64_t first, int64_t count, float* out) { source->read(first, count, out); });
  });
  return search.report();
}

}  // namespace hone::models
