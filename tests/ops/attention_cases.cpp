#include "ops/attention.h"
#include "ops/case_arrays.h"

namespace hone::ops {
namespace {

struct AttentionSetting {
  std::vector<int32_t> lengths;
  int64_t heads;
  int64_t size;
  bool reads = false;  ///< the first query of each sequence alone
  std::optional<RelativePositions> relative = {};
  float drop = 0;

  bool with_keys() const { return relative && relative->with_keys; }
  std::string name() const {
    std::string name = "attention_of";
    for (const int32_t length : lengths) name += "_" + std::to_string(length);
    name += "_heads_of_" + std::to_string(size) + (reads ? "_first_queries" : "");
    if (relative) name += with_keys() ? "_relative_key_query" : "_relative_key";
    return drop > 0 ? name + "_dropped" : name;
  }
};

GradientCase attention_gradient(const AttentionSetting& c) {
  const Axis queries = c.reads ? kReads : kTokens;
  CheckedInput offsets{kSequences, 1, {}, {0}, Filler::last};
  CheckedInput q_offsets = offsets;
  CheckedInput places{queries, 1, {}, {}};
  std::vector<int64_t> samples;
  GradientCase made;
  Extents& extents = made.extents;
  for (const int32_t length : c.lengths) {
    const int32_t count = c.reads ? 1 : length;
    offsets.indices.push_back(offsets.indices.back() + length);
    q_offsets.indices.push_back(q_offsets.indices.back() + count);
    for (int32_t i = 0; i < count; ++i) {
      places.indices.push_back(i);
      samples.push_back(std::ssize(offsets.indices));
    }
    extents[kLongest] = std::max<int64_t>(extents[kLongest], length);
  }
  extents[kTokens] = offsets.indices.back();
  extents[kSequences] = extents[kReads] = std::ssize(c.lengths);
  const int64_t hidden = c.heads * c.size;
  constexpr int64_t kDistances = 2 * 80 - 1;
  if (c.relative) made.weights.push_back(table(kDistances, c.size, 3));
  made.name = c.name();
  made.inputs = {{queries, hidden, draw(extents[queries] * hidden, 1)},
                 {kTokens, 2 * hidden, draw(extents[kTokens] * 2 * hidden, 2)},
                 q_offsets,
                 offsets,
                 places};
  if (c.drop > 0) add_drop_arrays(made.inputs, queries, samples, places.indices);
  made.record = [c](Tape& tape, const auto& x, const auto& w, const OpForm&) {
    AttentionInputs in;
    in.q = x[0];
    in.kv = x[1];
    in.q_offsets = x[2];
    in.offsets = x[3];
    in.q_places = x[4];
    in.heads = c.heads;
    in.longest = kLongest;
    in.one_query = c.reads;
    if (c.drop > 0) in.dropout = last_site(x, c.drop, 9);
    RelativePositions distances;
    if (!w.empty()) distances = {w[0], c.with_keys()};
    return attention(tape, in, distances);
  };
  return made;
}

}  // namespace

std::vector<GradientCase> attention_gradient_cases() {
  std::vector<GradientCase> cases;
  for (const bool reads : {false, true}) {
    for (const float drop : {0.f, 0.3f}) {
      // One key's probability is 1 whatever its score: where it is dropped, half precision on a GPU
      // leaves the rounding of terms that should cancel.
      cases.push_back(attention_gradient({{drop > 0 ? 2 : 1}, 1, 1, reads, {}, drop}));
      cases.push_back(attention_gradient({{7, 1, 17, 16}, 2, 5, reads, {}, drop}));
      cases.push_back(attention_gradient({{33}, 1, 8, reads, {}, drop}));
      cases.push_back(
          attention_gradient({{33, 1, 65}, 2, 32, reads, {}, drop}));  // what tensor cores take
      for (const bool with_keys : {false, true}) {
        const RelativePositions relative{{}, with_keys};
        cases.push_back(attention_gradient({{7, 1, 17}, 2, 5, reads, relative, drop}));
        cases.push_back(attention_gradient({{33, 65}, 2, 32, reads, relative, drop}));
      }
    }
  }
  return cases;
}

}  // namespace hone::ops
