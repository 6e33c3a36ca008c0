#include "models/init.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "nn/packed_rows.h"

namespace hone::models {
namespace {

/// FNV-1a: a name as the number of a random stream.
uint64_t stream_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void draw_normal(uint64_t seed, uint64_t stream, int64_t first, int64_t count, float std,
                 float* out) {
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<uint64_t>(first + i);
    const auto words = philox(seed, stream, element / 4);
    const auto pair = normal_pair(words[element & 2], words[(element & 2) + 1]);
    out[i] = std * pair[element & 1];
  }
}

void draw_uniform(uint64_t seed, uint64_t stream, int64_t first, int64_t count, float bound,
                  float* out) {
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<uint64_t>(first + i);
    out[i] = bound * (2 * uniform(philox(seed, stream, element / 4)[element % 4]) - 1);
  }
}

}  // namespace

void init_parameter(Model& model, const nn::Parameter& parameter, uint64_t seed, float std) {
  const std::optional<Initial> drawn = model.initial(parameter);
  const std::string& name = parameter.tensors.front();
  const uint64_t stream = stream_of(name);
  const int64_t width = row_width(parameter);
  const bool low = name.ends_with(nn::kLoraA);
  const bool zero = name.ends_with(nn::kLoraB);
  // Kaiming's uniform bound with a = sqrt(5), as PEFT starts from.
  const float bound = 1 / std::sqrt(static_cast<float>(width));
  store_rows(model.parameters(), parameter, [&](int64_t first, int64_t count, float* out) {
    if (parameter.kind == nn::ParameterKind::state) {
      std::fill(out, out + count * width, parameter.initial);
    } else if (drawn) {
      const auto draw = drawn->uniform ? draw_uniform : draw_normal;
      draw(seed, stream, first * width, count * width, drawn->scale, out);
      const int64_t zero_row = drawn->zero_row - first;
      if (drawn->zero_row >= 0 && zero_row >= 0 && zero_row < count) {
        std::fill_n(out + zero_row * width, width, 0.f);
      }
    } else if (parameter.is_vector()) {
      std::fill(out, out + count * width, name.ends_with(".weight") ? 1.f : 0.f);
    } else if (zero) {
      std::fill(out, out + count * width, 0.f);
    } else if (low) {
      draw_uniform(seed, stream, first * width, count * width, bound, out);
    } else {
      draw_normal(seed, stream, first * width, count * width, std, out);
    }
  });
}

void init_random(Model& model, uint64_t seed, float std, ThreadPool& pool) {
  nn::Parameters& parameters = model.parameters();
  parameters.allocate();
  const std::vector<nn::Parameter>& list = parameters.list();
  pool.run(static_cast<int64_t>(list.size()),
           [&](int64_t i, int) { init_parameter(model, list[static_cast<size_t>(i)], seed, std); });
}

}  // namespace hone::models
