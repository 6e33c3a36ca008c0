#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "ops/op_case.h"
#include "plan/execution.h"

/// One helper for all gradients: an op's backward pass against central differences, in double,
/// through the op's own code.
namespace hone::ops {

/// An array the op reads; its gradient is checked unless it is an index.
struct CheckedInput {
  Axis rows;
  int64_t width;
  std::vector<double> values = {};
  std::vector<int32_t> indices = {};  ///< an int32 array instead
};

/// A weight slot in its stored layout.
struct CheckedWeight {
  int64_t rows;
  int64_t width;
  std::vector<double> values;
};

struct GradientCase {
  std::string name;
  Extents extents;
  std::vector<CheckedInput> inputs;
  std::vector<CheckedWeight> weights;
  /// Records the op and gives its output.
  std::function<Value(Tape&, const std::vector<Value>&, const std::vector<Weight>&)> record;
  std::vector<size_t> frozen = {};  ///< weights without a gradient
};

inline std::vector<double> draw(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> out(static_cast<size_t>(count));
  for (double& value : out) value = normal(random);
  return out;
}

class GradientCheck {
 public:
  explicit GradientCheck(const GradientCase& c) : case_(c), tape_(plan_, trainable(c)) {
    for (const CheckedInput& input : case_.inputs) {
      const bool index = !input.indices.empty();
      inputs_.push_back(plan_.input(index ? DType::i32 : DType::f64, input.rows, input.width));
      if (!index) tape_.on_backward(inputs_.back(), [] {});
    }
    for (const CheckedWeight& weight : case_.weights) {
      weights_.push_back(
          {static_cast<int32_t>(weights_.size()), DType::f64, weight.rows, weight.width});
      gradients_.emplace_back(weight.values.size() * sizeof(double));
    }
    output_ = case_.record(tape_, inputs_, weights_);
    seed_ = plan_.input(DType::f64, output_.rows, output_.width);
    plan_.keep(output_);
    tape_.set_gradient(output_, seed_);
    tape_.backward();
    for (const Value& input : inputs_) {
      if (const auto gradient = tape_.gradient(input)) plan_.keep(*gradient);
    }
    seed_values_ = draw(case_.extents[output_.rows] * output_.width, 99);
  }

  /// Every checked array's gradient at up to `samples` places.
  void run(int samples = 24) {
    std::vector<std::vector<double>> input_gradients;
    forward();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto gradient = tape_.gradient(inputs_[i]);
      std::vector<double> values;
      if (gradient) {
        const auto* data = execution_->output<double>(*gradient);
        values.assign(data, data + case_.inputs[i].values.size());
      }
      input_gradients.push_back(std::move(values));
    }
    std::vector<std::vector<double>> weight_gradients;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const auto* data = gradients_[i].as<double>();
      weight_gradients.emplace_back(data, data + case_.weights[i].values.size());
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!case_.inputs[i].indices.empty() || case_.inputs[i].values.empty()) continue;
      ASSERT_FALSE(input_gradients[i].empty()) << case_.name << ": input " << i;
      compare(case_.inputs[i].values, input_gradients[i], samples, "input " + std::to_string(i));
    }
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (!trainable(case_)[i]) continue;
      compare(case_.weights[i].values, weight_gradients[i], samples, "weight " + std::to_string(i));
    }
  }

 private:
  static std::vector<bool> trainable(const GradientCase& c) {
    std::vector<bool> out(c.weights.size(), true);
    for (const size_t slot : c.frozen) out[slot] = false;
    return out;
  }

  /// The scalar whose gradient is seeded: output . seed. Fills gradients as well.
  double forward() {
    std::vector<const void*> weights;
    std::vector<Buffer> aligned;  // packed weights are read with aligned loads
    std::vector<void*> gradients;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const auto& values = case_.weights[i].values;
      aligned.emplace_back(values.size() * sizeof(double));
      std::copy(values.begin(), values.end(), aligned.back().as<double>());
      weights.push_back(aligned.back().data());
      std::fill_n(gradients_[i].as<double>(), values.size(), 0.0);
      gradients.push_back(trainable(case_)[i] ? gradients_[i].data() : nullptr);
    }
    execution_ = std::make_unique<Execution>(plan_, weights, gradients, pool_);
    execution_->resize(case_.extents);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const CheckedInput& input = case_.inputs[i];
      execution_->bind(inputs_[i], input.indices.empty()
                                       ? static_cast<const void*>(input.values.data())
                                       : input.indices.data());
    }
    execution_->bind(seed_, seed_values_.data());
    execution_->run();
    const auto* y = execution_->output<double>(output_);
    double sum = 0;
    for (size_t i = 0; i < seed_values_.size(); ++i) sum += y[i] * seed_values_[i];
    return sum;
  }

  void compare(std::vector<double>& values, const std::vector<double>& gradient, int samples,
               const std::string& what) {
    std::mt19937 random(5);
    const double step = 1e-5;
    const auto count = static_cast<int>(values.size());
    for (int s = 0; s < std::min(samples, count); ++s) {
      const size_t at = samples >= count ? static_cast<size_t>(s) : random() % values.size();
      const double kept = values[at];
      values[at] = kept + step;
      const double above = forward();
      values[at] = kept - step;
      const double below = forward();
      values[at] = kept;
      const double wanted = (above - below) / (2 * step);
      ASSERT_NEAR(gradient[at], wanted, 2e-6 * std::max(1., std::abs(wanted)))
          << case_.name << ": " << what << " at " << at;
    }
  }

  GradientCase case_;
  Plan plan_;
  Tape tape_;
  ThreadPool pool_{2};
  std::vector<Value> inputs_;
  std::vector<Weight> weights_;
  Value output_;
  Value seed_;
  std::vector<double> seed_values_;
  std::vector<Buffer> gradients_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace hone::ops
