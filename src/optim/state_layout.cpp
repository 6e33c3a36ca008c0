#include "optim/state_layout.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "tensor/dynamic_map.h"

namespace hone::optim {
namespace {

constexpr int64_t kLine = kAlignment / sizeof(float);

int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

}  // namespace

std::string_view optimizer_name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw:
      return "adamw";
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::adamw_8bit:
      return "adamw_8bit";
    case OptimizerKind::adafactor:
      return "adafactor";
  }
  fail(ErrorKind::internal, "an optimiser without a name");
}

OptimizerKind parse_optimizer(std::string_view name, std::string_view field) {
  if (name == "sgd") return OptimizerKind::sgd;
  if (name == "adamw_8bit" || name == "adamw_bnb_8bit") return OptimizerKind::adamw_8bit;
  if (name == "adafactor") return OptimizerKind::adafactor;
  if (name.starts_with("adamw")) return OptimizerKind::adamw;
  fail(ErrorKind::usage, "{}: expected adamw, adamw_8bit, adafactor or sgd, got {}", field,
       quote(name));
}

template <typename Count>
StateLayout::Array StateLayout::lay_out(int64_t alignment, const Count& count) const {
  Array array{std::vector<Place>(order_.size()), 0};
  for (const size_t slot : order_) {
    const int64_t elements = count(slot);
    array.places[slot] = {array.elements, elements};
    array.elements += round_up(elements, alignment);
  }
  return array;
}

template <typename Count>
void StateLayout::add(const StateKind& kind, int64_t alignment, const Count& count) {
  kinds_.push_back(kind);
  arrays_.push_back(lay_out(alignment, count));
}

StateLayout::StateLayout(const nn::Parameters& parameters, const std::vector<bool>& trainable,
                         OptimizerKind kind, double momentum)
    : order_(parameters.list().size()) {
  const std::vector<size_t> at = parameters.layout();
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return at[a] < at[b]; });
  const auto all = [&](size_t slot) {
    return trainable[slot] ? parameters.elements(parameters.list()[slot].weight) : 0;
  };
  gradients_ = lay_out(kLine, all);
  const bool adamw = kind == OptimizerKind::adamw;
  if (adamw || (kind == OptimizerKind::sgd && momentum > 0)) add({"exp_avg"}, kLine, all);
  if (adamw) add({"exp_avg_sq"}, kLine, all);
  if (kind == OptimizerKind::adafactor) add_factored(parameters, trainable);
  if (kind != OptimizerKind::adamw_8bit) return;
  const auto small = [&](size_t slot) { return all(slot) < kLeastQuantized ? all(slot) : 0; };
  const auto blocks = [&](size_t slot) {
    return all(slot) < kLeastQuantized
               ? 0
               : round_up(all(slot), DynamicMap::kBlock) / DynamicMap::kBlock;
  };
  const auto codes = [&](size_t slot) { return blocks(slot) * DynamicMap::kBlock; };
  add({"exp_avg"}, kLine, small);
  add({"exp_avg_sq"}, kLine, small);
  add({"exp_avg_codes", DType::u8, false}, DynamicMap::kBlock, codes);
  add({"exp_avg_scales", DType::f32, false}, 1, blocks);
  add({"exp_avg_sq_codes", DType::u8, false}, DynamicMap::kBlock, codes);
  add({"exp_avg_sq_scales", DType::f32, false}, 1, blocks);
}

void StateLayout::add_factored(const nn::Parameters& parameters,
                               const std::vector<bool>& trainable) {
  const auto of_matrices = [&](const auto& count) {
    return [&](size_t slot) {
      const nn::Parameter& parameter = parameters.list()[slot];
      return trainable[slot] && !parameter.is_vector() ? count(parameter) : int64_t{0};
    };
  };
  const auto rows = [](const nn::Parameter& parameter) { return parameter.weight.rows; };
  const auto columns = [](const nn::Parameter& parameter) {
    return parameter.weight.width * std::ssize(parameter.tensors);
  };
  add({"exp_avg_sq_row", DType::f32, false}, kLine, of_matrices(rows));
  add({"exp_avg_sq_col", DType::f32, false}, kLine, of_matrices(columns));
  add({"exp_avg_sq"}, kLine, [&](size_t slot) {
    const nn::Parameter& parameter = parameters.list()[slot];
    return trainable[slot] && parameter.is_vector() ? parameters.elements(parameter.weight) : 0;
  });
}

std::vector<size_t> StateLayout::gradient_offsets() const {
  std::vector<size_t> offsets;
  for (const Place& place : gradients_.places) {
    offsets.push_back(static_cast<size_t>(place.begin) * sizeof(float));
  }
  return offsets;
}

size_t StateLayout::bytes(size_t kind) const {
  return static_cast<size_t>(elements(kind)) * dtype_size(kinds_[kind].dtype);
}

size_t StateLayout::bytes() const {
  size_t total = 0;
  for (size_t kind = 0; kind < kinds_.size(); ++kind) total += bytes(kind);
  return total;
}

}  // namespace hone::optim
