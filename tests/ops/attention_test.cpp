#include "ops/attention.h"

#include "ops/op_case.h"

namespace hone::ops {
namespace {

struct AttentionCase {
  std::vector<int32_t> lengths;
  int64_t heads;
  int64_t head_size;
  DType dtype;
};

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    cases.push_back({{1}, 1, 1, dtype});
    cases.push_back({{7, 1, 15, 16, 17}, 3, 20, dtype});
    cases.push_back({{63, 64, 65}, 2, 64, dtype});
    cases.push_back({{128, 5, 129}, 2, 32, dtype});
    cases.push_back({{600}, 1, 64, dtype});
    cases.push_back({{}, 2, 16, dtype});
  }
  return cases;
}

class Attention : public testing::TestWithParam<AttentionCase> {};

/// Softmax of scaled scores times values, for the first `reads` queries of each sequence (0: all).
TEST_P(Attention, AttendsWithinEachSequence) {
  const AttentionCase& c = GetParam();
  const int64_t hidden = c.heads * c.head_size;
  for (const bool first_only : {false, true}) {
    std::vector<int32_t> offsets = {0};
    std::vector<int32_t> q_offsets = {0};
    for (const int32_t length : c.lengths) {
      offsets.push_back(offsets.back() + length);
      q_offsets.push_back(q_offsets.back() + (first_only ? 1 : length));
    }
    const int64_t tokens = offsets.back();
    const int64_t queries = q_offsets.back();
    const auto q = values(queries * hidden, c.dtype, 1);
    const auto kv = values(tokens * 2 * hidden, c.dtype, 2);
    std::vector<double> wanted(static_cast<size_t>(queries * hidden));
    const double scale = 1 / std::sqrt(static_cast<double>(c.head_size));
    for (size_t s = 0; s < c.lengths.size(); ++s) {
      for (int32_t i = q_offsets[s]; i < q_offsets[s + 1]; ++i) {
        for (int64_t h = 0; h < c.heads; ++h) {
          std::vector<double> scores;
          double sum = 0;
          for (int32_t j = offsets[s]; j < offsets[s + 1]; ++j) {
            double dot = 0;
            for (int64_t d = 0; d < c.head_size; ++d) {
              dot += static_cast<double>(q[static_cast<size_t>(i * hidden + h * c.head_size + d)]) *
                     kv[static_cast<size_t>(j * 2 * hidden + h * c.head_size + d)];
            }
            scores.push_back(std::exp(dot * scale));
            sum += scores.back();
          }
          for (int64_t d = 0; d < c.head_size; ++d) {
            double out = 0;
            for (int32_t j = offsets[s]; j < offsets[s + 1]; ++j) {
              out += scores[static_cast<size_t>(j - offsets[s])] / sum *
                     kv[static_cast<size_t>((j * 2 + 1) * hidden + h * c.head_size + d)];
            }
            wanted[static_cast<size_t>(i * hidden + h * c.head_size + d)] = out;
          }
        }
      }
    }
    const Buffer q_stored = stored(q, c.dtype);
    const Buffer kv_stored = stored(kv, c.dtype);
    on_every_isa([&](Isa, const std::string& name) {
      Plan plan;
      Tape tape(plan);
      AttentionInputs in;
      in.q = plan.input(c.dtype, kReads, hidden);
      in.kv = plan.input(c.dtype, kTokens, 2 * hidden);
      in.q_offsets = plan.input(DType::i32, kSequences, 1);
      in.offsets = plan.input(DType::i32, kSequences, 1);
      in.q_places = plan.input(DType::i32, kReads, 1);
      in.heads = c.heads;
      const Value y = attention(tape, in);
      plan.keep(y);
      ThreadPool pool(2);
      Runner runner(plan, {}, pool);
      Extents extents;
      extents[kTokens] = tokens;
      extents[kSequences] = static_cast<int64_t>(c.lengths.size());
      extents[kReads] = queries;
      runner.resize(extents);
      runner.bind(in.q, q_stored.data());
      runner.bind(in.kv, kv_stored.data());
      runner.bind(in.q_offsets, q_offsets.data());
      runner.bind(in.offsets, offsets.data());
      runner.run();
      expect_close(loaded(runner.output<void>(y), c.dtype, queries * hidden), wanted,
                   c.dtype == DType::f32 ? 5e-6 : 1e-2, name);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention, testing::ValuesIn(attention_cases()));

}  // namespace
}  // namespace hone::ops
