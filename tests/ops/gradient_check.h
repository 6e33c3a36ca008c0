#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/gemm.h"
#include "ops/gradient_case.h"
#include "ops/op_case.h"
#include "plan/runner.h"

/// One helper for all gradients: an op's backward pass against central differences, in double,
/// through the op's own code.
namespace hone::ops {

/// Normal, of as many bits as fp32 has.
inline std::vector<double> draw(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  std::vector<double> out(static_cast<size_t>(count));
  for (double& value : out) value = normal(random);
  return out;
}

/// What a case gives for its arrays: its output, and the gradients of output . seed.
struct OpResult {
  std::vector<double> output;
  std::vector<std::vector<double>> inputs;   ///< empty where there is no gradient
  std::vector<std::vector<double>> weights;  ///< row by row; empty of frozen ones
};

class GradientCheck {
 public:
  explicit GradientCheck(const GradientCase& c) : case_(c), tape_(plan_, c.trainable()) {
    for (const CheckedInput& input : case_.inputs) {
      inputs_.push_back(plan_.input(input.dtype(DType::f64), input.rows, input.width));
      if (input.is_checked()) tape_.on_backward(inputs_.back(), [] {});
    }
    for (const CheckedWeight& weight : case_.weights) {
      weights_.push_back(
          {static_cast<int32_t>(weights_.size()), DType::f64, weight.rows, weight.width});
      places_.push_back(places_of(weight));
      gradients_.emplace_back(bytes_of(weight));
      arrays_.emplace_back(bytes_of(weight));
    }
    output_ = case_.record(tape_, inputs_, weights_, {isa_, DType::f64});
    seed_ = plan_.input(DType::f64, output_.rows, output_.width);
    plan_.keep(output_);
    tape_.set_gradient(output_, seed_);
    tape_.backward();
    for (const Value& input : inputs_) {
      if (const auto gradient = tape_.gradient(input)) plan_.keep(*gradient);
    }
    seed_values_ = case_.loss_scale ? std::vector<double>{1}
                                    : draw(case_.extents[output_.rows] * output_.width, 99);
  }

  const std::vector<double>& seed() const { return seed_values_; }
  void set_seed(std::vector<double> values) { seed_values_ = std::move(values); }

  OpResult result() {
    forward();
    OpResult out;
    const auto* y = runner_->output<double>(output_);
    out.output.assign(y, y + seed_values_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      out.inputs.emplace_back();
      const auto gradient = tape_.gradient(inputs_[i]);
      if (!gradient) continue;
      const auto* data = runner_->output<double>(*gradient);
      out.inputs.back().assign(data, data + case_.inputs[i].values.size());
    }
    for (size_t i = 0; i < weights_.size(); ++i) {
      out.weights.emplace_back();
      if (!case_.trainable()[i]) continue;
      for (const size_t place : places_[i]) {
        out.weights.back().push_back(gradients_[i].as<double>()[place]);
      }
    }
    return out;
  }

  /// Every checked array's gradient at up to `samples` places.
  void run(int samples = 24) {
    const OpResult found = result();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!case_.inputs[i].is_checked() || case_.inputs[i].values.empty()) continue;
      ASSERT_FALSE(found.inputs[i].empty()) << case_.name << ": input " << i;
      compare(case_.inputs[i].values, found.inputs[i], samples, "input " + std::to_string(i));
    }
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (!case_.trainable()[i]) continue;
      compare(case_.weights[i].values, found.weights[i], samples, "weight " + std::to_string(i));
    }
  }

 private:
  size_t bytes_of(const CheckedWeight& weight) const {
    return weight.matrix ? kernels::packed_bytes(isa_, DType::f64, weight.rows, weight.width)
                         : weight.values.size() * sizeof(double);
  }
  /// Where each element lies: found by packing their numbers.
  std::vector<size_t> places_of(const CheckedWeight& weight) const {
    std::vector<size_t> places(weight.values.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    if (!weight.matrix) return places;
    std::vector<float> numbers(places.begin(), places.end());
    for (float& number : numbers) ++number;  // 0 is padding
    Buffer packed(bytes_of(weight));
    kernels::pack_rows(isa_, DType::f64, numbers.data(), 0, weight.rows, weight.rows, weight.width,
                       packed.data());
    for (size_t i = 0; i < packed.size() / sizeof(double); ++i) {
      const auto number = static_cast<size_t>(packed.as<double>()[i]);
      if (number > 0) places[number - 1] = i;
    }
    return places;
  }

  static const void* array_of(const CheckedInput& input) {
    if (!input.indices.empty()) return input.indices.data();
    if (!input.numbers.empty()) return input.numbers.data();
    return input.values.data();
  }

  /// The scalar whose gradient is seeded: output . seed. Fills gradients as well.
  double forward() {
    std::vector<const void*> weights;
    std::vector<void*> gradients;
    for (size_t i = 0; i < weights_.size(); ++i) {
      std::fill_n(arrays_[i].as<double>(), arrays_[i].size() / sizeof(double), 0.0);
      for (size_t k = 0; k < places_[i].size(); ++k) {
        arrays_[i].as<double>()[places_[i][k]] = case_.weights[i].values[k];
      }
      weights.push_back(arrays_[i].data());
      std::fill_n(gradients_[i].as<double>(), gradients_[i].size() / sizeof(double), 0.0);
      gradients.push_back(case_.trainable()[i] ? gradients_[i].data() : nullptr);
    }
    runner_ =
        std::make_unique<Runner>(plan_, weights, pool_, Runner::Options{.gradients = {gradients}});
    runner_->resize(case_.extents);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      runner_->bind(inputs_[i], array_of(case_.inputs[i]));
    }
    runner_->bind(seed_, seed_values_.data());
    runner_->run();
    const auto* y = runner_->output<double>(output_);
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
      const double wanted = case_.loss_scale.value_or(1) * (above - below) / (2 * step);
      ASSERT_NEAR(gradient[at], wanted, 2e-6 * std::max(1., std::abs(wanted)))
          << case_.name << ": " << what << " at " << at;
    }
  }

  GradientCase case_;
  Isa isa_ = chosen_isa();
  Plan plan_;
  Tape tape_;
  ThreadPool pool_{2};
  std::vector<Value> inputs_;
  std::vector<Weight> weights_;
  std::vector<std::vector<size_t>> places_;  ///< places of a weight's elements in its array
  Value output_;
  Value seed_;
  std::vector<double> seed_values_;
  std::vector<Buffer> gradients_;
  std::vector<Buffer> arrays_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace hone::ops
