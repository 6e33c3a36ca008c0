#include "train/weight_average.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/function_ref.h"

namespace hone::train {
namespace {

/// Calls `work` for pieces of so many elements, by the pool's threads.
void for_pieces(size_t count, ThreadPool& pool, FunctionRef<void(size_t first, size_t end)> work) {
  constexpr size_t kPiece = size_t{1} << 16;
  pool.run(static_cast<int64_t>((count + kPiece - 1) / kPiece), [&](int64_t task, int) {
    const size_t first = static_cast<size_t>(task) * kPiece;
    work(first, std::min(count, first + kPiece));
  });
}

}  // namespace

WeightAverage::WeightAverage(nn::Parameters& parameters, double decay)
    : parameters_(parameters), decay_(decay), average_(parameters.bytes()) {
  begin();
}

void WeightAverage::begin() {
  std::memcpy(average_.data(), std::as_const(parameters_).arena_data(), parameters_.bytes());
}

void WeightAverage::update(int64_t step, ThreadPool& pool) {
  const auto n = static_cast<double>(step);
  const auto share = static_cast<float>(1 - std::min(decay_, (1 + n) / (10 + n)));
  const auto* weights = static_cast<const float*>(std::as_const(parameters_).arena_data());
  auto* average = average_.as<float>();
  for_pieces(parameters_.bytes() / sizeof(float), pool, [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) average[i] += share * (weights[i] - average[i]);
  });
}

void WeightAverage::exchange(ThreadPool& pool) {
  float* weights = parameters_.arena();
  auto* average = average_.as<float>();
  for_pieces(parameters_.bytes() / sizeof(float), pool, [&](size_t first, size_t end) {
    std::swap_ranges(weights + first, weights + end, average + first);
  });
}

float* WeightAverage::data(const Weight& weight) {
  return average_.as<float>() + parameters_.offset(weight);
}

}  // namespace hone::train
