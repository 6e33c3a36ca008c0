#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nn/packed_rows.h"
#include "optim/optimizer.h"

/// A small parameter set on any device, and PyTorch's optimisers in double.
namespace hone::optim {

inline std::vector<float> normal(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = draw(random);
  return values;
}

/// A matrix, a table, a vector, and a matrix that is frozen.
struct SmallSet {
  explicit SmallSet(const Target& target, int64_t table_rows = 7) : parameters(target) {
    parameters.matrix({"a.weight"}, 5, 33, DType::f32);
    parameters.table("words", table_rows, 9, DType::f32);
    parameters.vector({"a.bias"}, 33);
    parameters.matrix({"b.weight"}, 4, 16, DType::f32);
    parameters.allocate();
    for (const nn::Parameter& parameter : parameters.list()) {
      const int64_t width = nn::row_width(parameter);
      const auto drawn = normal(elements(parameter), 1 + parameter.weight.slot);
      nn::store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
        std::copy_n(drawn.begin() + first * width, count * width, out);
      });
    }
    parameters.arrays_for(DType::f32, std::vector<bool>(trainable.size()), true);
    parameters.refresh(pool);
  }

  std::unique_ptr<Optimizer> optimizer(const OptimizerOptions& options) {
    return Optimizer::make(parameters, trainable, options);
  }
  const Weight& weight(size_t slot) const { return parameters.list()[slot].weight; }

  static int64_t elements(const nn::Parameter& parameter) {
    return parameter.weight.rows * parameter.weight.width;
  }
  /// What backward passes give at step `number`. Steps differ in size, so that one factor for all
  /// of them is no clipping.
  static std::vector<float> gradient(const nn::Parameter& parameter, int number, float scale = 1) {
    const auto seed = static_cast<unsigned>(100 + 10 * number + parameter.weight.slot);
    std::vector<float> values = normal(elements(parameter), seed);
    for (float& value : values) value *= scale * static_cast<float>(1 + number % 3);
    return values;
  }
  void set_gradients(Optimizer& optimizer, int number, float scale = 1) const {
    for (const nn::Parameter& parameter : parameters.list()) {
      if (!trainable[static_cast<size_t>(parameter.weight.slot)]) continue;
      optimizer.write_gradient(parameter.weight, gradient(parameter, number, scale).data());
    }
  }
  std::vector<float> values(size_t slot) {
    parameters.refresh_host();
    const nn::Parameter& parameter = parameters.list()[slot];
    std::vector<float> rows;
    nn::read_rows(parameter, {parameters.isa(), DType::f32, parameters.pointers()[slot]}, 0,
                  nn::row_count(parameter), [&](int64_t, int64_t count, const float* some) {
                    rows.insert(rows.end(), some, some + count * nn::row_width(parameter));
                  });
    return rows;
  }
  std::vector<std::vector<float>> all() {
    std::vector<std::vector<float>> list;
    for (size_t slot = 0; slot < trainable.size(); ++slot) list.push_back(values(slot));
    return list;
  }

  nn::Parameters parameters;
  std::vector<bool> trainable = {true, true, true, false};
  ThreadPool pool{2};
};

/// PyTorch's AdamW and SGD behind clip_grad_norm_.
class TorchReference {
 public:
  TorchReference(SmallSet& set, const OptimizerOptions& options) : set_(set), o_(options) {
    for (const std::vector<float>& start : set.all()) {
      p_.emplace_back(start.begin(), start.end());
      m_.emplace_back(start.size(), 0.);
      v_.emplace_back(start.size(), 0.);
    }
  }
  /// The norm of the gradients.
  double step(int number, double rate) {
    ++steps_;
    std::vector<std::vector<double>> gradients(p_.size());
    double squares = 0;
    for (size_t slot = 0; slot < p_.size(); ++slot) {
      if (!set_.trainable[slot]) continue;
      const auto drawn = SmallSet::gradient(set_.parameters.list()[slot], number);
      gradients[slot].assign(drawn.begin(), drawn.end());
      for (const double g : gradients[slot]) squares += g * g;
    }
    const double norm = std::sqrt(squares);
    const double clip = o_.max_grad_norm > 0 ? std::min(1., o_.max_grad_norm / (norm + 1e-6)) : 1;
    for (size_t slot = 0; slot < p_.size(); ++slot) {
      for (size_t i = 0; i < gradients[slot].size(); ++i) {
        update(slot, i, clip * gradients[slot][i], rate);
      }
    }
    return norm;
  }
  void expect(SmallSet& set, double tolerance) const {
    const auto got = set.all();
    for (size_t slot = 0; slot < p_.size(); ++slot) {
      for (size_t i = 0; i < p_[slot].size(); ++i) {
        ASSERT_NEAR(got[slot][i], p_[slot][i], tolerance) << "slot " << slot << " at " << i;
      }
    }
  }

 private:
  void update(size_t slot, size_t i, double g, double rate) {
    // Trainer's groups: biases and norms, which are vectors, are not decayed.
    const bool decays = set_.parameters.list()[slot].kind != nn::ParameterKind::vector;
    const double decay = decays ? o_.weight_decay : 0;
    double& p = p_[slot][i];
    double& m = m_[slot][i];
    double& v = v_[slot][i];
    if (o_.kind == OptimizerKind::sgd) {
      const double whole = g + decay * p;
      m = o_.momentum * m + whole;
      p -= rate * (o_.nesterov ? whole + o_.momentum * m : m);
      return;
    }
    p *= 1 - rate * decay;
    m = o_.beta1 * m + (1 - o_.beta1) * g;
    v = o_.beta2 * v + (1 - o_.beta2) * g * g;
    const double corrected = v / (1 - std::pow(o_.beta2, steps_));
    p -= rate * m / (1 - std::pow(o_.beta1, steps_)) / (std::sqrt(corrected) + o_.eps);
  }

  SmallSet& set_;
  OptimizerOptions o_;
  int steps_ = 0;
  std::vector<std::vector<double>> p_, m_, v_;
};

}  // namespace hone::optim
