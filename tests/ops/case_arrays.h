#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ops/dropout.h"
#include "ops/gradient_check.h"

/// The arrays that the tables of gradient cases are made of.
namespace hone::ops {

struct Shape {
  int64_t rows;
  int64_t width;
};

inline std::string named(const std::string& name, const Shape& shape) {
  return name + "_" + std::to_string(shape.rows) + "x" + std::to_string(shape.width);
}

inline Extents tokens(int64_t count) {
  Extents extents;
  extents[kTokens] = count;
  return extents;
}

inline CheckedInput input(const Shape& shape, unsigned seed) {
  return {kTokens, shape.width, draw(shape.rows * shape.width, seed)};
}

inline CheckedWeight matrix(int64_t rows, int64_t width, unsigned seed) {
  return {rows, width, draw(rows * width, seed), true};
}

inline CheckedWeight table(int64_t rows, int64_t width, unsigned seed) {
  return {rows, width, draw(rows * width, seed)};
}

inline CheckedWeight vector_of(int64_t width, unsigned seed) { return table(1, width, seed); }

/// Ids of words, positions and types; an index array of no rows still holds one element.
inline std::vector<CheckedInput> embedding_ids(int64_t rows) {
  std::vector<CheckedInput> ids(3, CheckedInput{kTokens, 1, {}, {}});
  for (int64_t t = 0; t < std::max<int64_t>(rows, 1); ++t) {
    ids[0].indices.push_back(static_cast<int32_t>(t * 5 % 4));
    ids[1].indices.push_back(static_cast<int32_t>(t % 3));
    ids[2].indices.push_back(static_cast<int32_t>(t % 2));
  }
  return ids;
}

/// Appends the three arrays that a dropout site reads: seed and step, and for each row its sample
/// and its place in it.
inline void add_drop_arrays(std::vector<CheckedInput>& inputs, Axis rows,
                            std::vector<int64_t> samples, std::vector<int32_t> places) {
  inputs.push_back({Axis::one, 2, {}, {}, Filler::zero, {7, 3}});
  inputs.push_back({rows, 1, {}, {}, Filler::zero, std::move(samples)});
  inputs.push_back({rows, 1, {}, std::move(places)});
}

/// Rows of samples of four tokens each.
inline void add_drop_arrays(std::vector<CheckedInput>& inputs, int64_t rows) {
  std::vector<int64_t> samples;
  std::vector<int32_t> places;
  for (int64_t t = 0; t < std::max<int64_t>(rows, 1); ++t) {
    samples.push_back(100 + t / 4);
    places.push_back(static_cast<int32_t>(t % 4));
  }
  add_drop_arrays(inputs, kTokens, std::move(samples), std::move(places));
}

/// The site over the arrays that add_drop_arrays() appended last.
inline DropoutSite last_site(const std::vector<Value>& x, float p, uint64_t site) {
  const size_t at = x.size() - 3;
  return {p, site, x[at], x[at + 1], x[at + 2]};
}

}  // namespace hone::ops
