// The losses behind a product, as heads have them: the gradient is that of the reported loss, times
// the loss scale.
#include "ops/by_dtype.h"
#include "ops/case_arrays.h"
#include "ops/linear.h"
#include "ops/loss.h"

namespace hone::ops {
namespace {

constexpr int64_t kFeatures = 6;
/// What the sum of losses is divided by: not the rows, as where batches are accumulated.
constexpr double kLossCount = 11;
constexpr double kLossScale = 64;

struct LossSetting {
  std::string name;
  int64_t rows;
  int64_t classes;
  LossOptions options;
};

CheckedInput labels_of(const LossSetting& c) {
  const int64_t rows = std::max<int64_t>(c.rows, 1);
  CheckedInput labels{kSequences, 1, {}, {}, Filler::minus_one};
  if (c.options.kind == LossKind::cross_entropy) {
    for (int64_t i = 0; i < rows; ++i) {
      labels.indices.push_back(static_cast<int32_t>(i * 2 % c.classes));
    }
    return labels;
  }
  labels.held = Held::accumulator;
  labels.width = c.classes;
  labels.values = draw(c.rows * c.classes, 8);
  if (c.options.kind == LossKind::squared_error) return labels;
  if (c.options.kind == LossKind::soft_cross_entropy) {
    // A share for each of two classes, and a row of zeros.
    for (size_t i = 0; i < labels.values.size(); ++i) {
      const size_t class_ = i % static_cast<size_t>(c.classes),
                   row = i / static_cast<size_t>(c.classes);
      labels.values[i] = row == 2 ? 0 : class_ == 0 ? 0.25 : class_ == 1 ? 0.75 : 0;
    }
    return labels;
  }
  for (double& target : labels.values) target = target > 0.5 ? 1 : target < -0.5 ? 0 : 0.25;
  return labels;
}

GradientCase loss_gradient(const LossSetting& c) {
  CheckedInput scale{Axis::one, 2, {kLossCount, kLossScale}};
  scale.held = Held::f64;
  GradientCase made;
  made.name = c.name + "_of_" + std::to_string(c.rows) + "x" + std::to_string(c.classes);
  made.extents[kSequences] = c.rows;
  made.inputs = {
      {kSequences, kFeatures, draw(c.rows * kFeatures, 1)}, labels_of(c), std::move(scale)};
  if (c.options.distill.weight > 0) {
    made.inputs.push_back({kSequences, c.classes, draw(c.rows * c.classes, 9)});
    made.inputs.back().held = Held::accumulator;
  }
  made.weights = {matrix(c.classes, kFeatures, 2), vector_of(c.classes, 3)};
  made.loss_scale = kLossScale;
  made.record = [options = c.options](Tape& tape, const auto& x, const auto& w,
                                      const OpForm& form) {
    const Value logits =
        linear(tape, x[0], w[0], w[1], form.isa, {.out = accumulator_dtype(form.dtype)});
    return loss(tape, {logits, x[1], x[2], x.size() > 3 ? std::optional(x[3]) : std::nullopt},
                options);
  };
  return made;
}

}  // namespace

std::vector<GradientCase> loss_gradient_cases() {
  std::vector<GradientCase> cases;
  for (const int64_t rows : {1, 5, 300}) {
    const auto add = [&](const char* name, int64_t classes, const LossOptions& options) {
      cases.push_back(loss_gradient({name, rows, classes, options}));
    };
    const std::vector<float> weights = {0.5f, 2, 1.25f};
    const auto kind = LossKind::cross_entropy;
    add("cross_entropy", 3, {.kind = kind});
    add("cross_entropy_smoothed", 3, {.kind = kind, .label_smoothing = 0.2f});
    add("cross_entropy_weighted", 3, {.kind = kind, .class_weights = weights});
    add("cross_entropy_smoothed_and_weighted", 3,
        {.kind = kind, .weight = 0.3, .label_smoothing = 0.2f, .class_weights = weights});
    add("soft_cross_entropy", 3, {.kind = LossKind::soft_cross_entropy});
    add("soft_cross_entropy_smoothed", 3,
        {.kind = LossKind::soft_cross_entropy, .weight = 0.3, .label_smoothing = 0.2f});
    add("squared_error", 1, {.kind = LossKind::squared_error});
    add("squared_error", 3, {.kind = LossKind::squared_error, .weight = 0.3});
    add("binary_cross_entropy", 3, {.kind = LossKind::binary_cross_entropy});
    add("binary_cross_entropy_weighted", 3,
        {.kind = LossKind::binary_cross_entropy, .weight = 0.3, .positive_weights = weights});
    const DistillOptions taught{.weight = 0.4, .temperature = 3};
    // A GPU has a warp for a row of many classes.
    for (const int64_t classes : {3, 40}) {
      for (const auto& [name, taught_kind] :
           {std::pair("cross_entropy_taught", kind),
            std::pair("soft_cross_entropy_taught", LossKind::soft_cross_entropy),
            std::pair("squared_error_taught", LossKind::squared_error),
            std::pair("binary_cross_entropy_taught", LossKind::binary_cross_entropy)}) {
        add(name, classes, {.kind = taught_kind, .distill = taught});
      }
    }
    add("cross_entropy_smoothed", 40, {.kind = kind, .label_smoothing = 0.2f});
    add("soft_cross_entropy", 40, {.kind = LossKind::soft_cross_entropy});
    add("squared_error", 40, {.kind = LossKind::squared_error});
    add("binary_cross_entropy", 40, {.kind = LossKind::binary_cross_entropy});
  }
  return cases;
}

}  // namespace hone::ops
