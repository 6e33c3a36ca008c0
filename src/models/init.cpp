#include "models/init.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "models/store.h"

namespace hone::models {
namespace {

void draw(uint64_t seed, uint64_t slot, int64_t first, int64_t count, float std, float* out) {
  for (int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<uint64_t>(first + i);
    const auto words = philox(seed, slot, element / 4);
    const auto pair = normal_pair(words[element & 2], words[(element & 2) + 1]);
    out[i] = std * pair[element & 1];
  }
}

}  // namespace

void init_random(Encoder& encoder, uint64_t seed, float std, ThreadPool& pool) {
  nn::Parameters& parameters = encoder.parameters();
  parameters.allocate();
  const std::vector<nn::Parameter>& list = parameters.list();
  pool.run(static_cast<int64_t>(list.size()), [&](int64_t i, int) {
    const nn::Parameter& parameter = list[static_cast<size_t>(i)];
    const bool norm = parameter.kind == nn::ParameterKind::vector &&
                      parameter.tensors.front().ends_with(".weight");
    store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
      const int64_t width = row_width(parameter);
      if (parameter.kind == nn::ParameterKind::vector) {
        std::fill(out, out + count * width, norm ? 1.f : 0.f);
      } else {
        draw(seed, static_cast<uint64_t>(i), first * width, count * width, std, out);
      }
    });
  });
}

}  // namespace hone::models
