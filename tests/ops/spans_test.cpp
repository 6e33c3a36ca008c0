#include "ops/spans.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda.h"
#include "ops/case_arrays.h"
#include "ops/span_texts.h"

namespace hone::ops {
namespace {

/// Runs parse_phrases() over texts of so many words, on a GPU twice: step by step and as a graph.
std::vector<int32_t> parsed(const std::vector<int32_t>& words, const std::vector<float>& scores,
                            const std::vector<int32_t>& given, std::vector<int32_t> known,
                            DeviceKind device = DeviceKind::cpu) {
  const SpanTexts texts(words);
  Plan plan;
  plan.set_device(device);
  plan.set_axes(bucket_axes());
  Tape tape(plan);
  Extents extents = tokens(texts.offsets.back());
  extents[kSequences] = static_cast<int64_t>(words.size());
  extents[kBounds] = texts.bounds.back();
  extents[kCells] = texts.cells.back();
  std::vector<int32_t> places = {0};
  for (const int32_t n : words) places.push_back(places.back() + std::max(0, n - 2));
  extents[kPlaces] = places.back();
  known.resize(static_cast<size_t>(2 * places.back()));
  const auto input = [&](Axis axis, int64_t width, Filler filler = Filler::zero) {
    return plan.input(DType::i32, axis, width, filler);
  };
  const auto offsets = [&] { return input(kSequences, 1, Filler::last); };
  const Value score = plan.input(DType::f32, kCells, 1);
  const ParseInputs in{
      score,
      input(kSequences, 1),
      offsets(),
      input(kPlaces, 2),
      {offsets(), offsets(), offsets(), input(kBounds, 1), input(kBounds, 1), kCells}};
  const Value out = parse_phrases(tape, in, 0.4);
  plan.keep(out);
  ThreadPool pool(2);
  Runner runner(plan, std::vector<const void*>(), pool);
  for (int turn = 0; turn < (device == DeviceKind::cuda ? 2 : 1); ++turn) {
    runner.resize(extents);
    runner.bind(score, scores.data());
    runner.bind(in.given, given.data());
    runner.bind(in.phrases, places.data());
    runner.bind(in.known, known.data());
    runner.bind(in.spans.offsets, texts.offsets.data());
    runner.bind(in.spans.bounds, texts.bounds.data());
    runner.bind(in.spans.cells, texts.cells.data());
    runner.bind(in.spans.before, texts.before.data());
    runner.bind(in.spans.behind, texts.behind.data());
    runner.run();
  }
  const auto* found = runner.output<int32_t>(out);
  return {found, found + known.size()};
}

/// Words have two tokens each behind a first one, so that words [1, 3) are rows [3, 7).
TEST(ParsePhrases, TakesKnownOnesAndFindsTheOthers) {
  // Spans of four words: (0,2) (0,3) (0,4) (1,3) (1,4) (2,4).
  const std::vector<float> one = {-9, -9, 0, 9, -9, -9};
  EXPECT_EQ(parsed({4}, one, {0}, {}), (std::vector<int32_t>{3, 7, 0, 0}));
  EXPECT_EQ(parsed({4}, one, {1}, {1, 9}), (std::vector<int32_t>{1, 9, 0, 0}));
  std::vector<float> both = {-9, 9, 0, 9, -9, -9};
  EXPECT_EQ(parsed({4}, both, {0}, {}), (std::vector<int32_t>{1, 7, 3, 7}));
  both.insert(both.end(), {5});  // a second text of two words, whose one span is its whole
  EXPECT_EQ(parsed({4, 2}, both, {0, 0}, {}), (std::vector<int32_t>{1, 7, 3, 7}));
}

TEST(GpuParsePhrases, AreThoseOfTheProcessor) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  use_cuda_device(0);
  const std::vector<int32_t> words = {4, 0, 33, 1, 2, 128, 7, 3};
  const SpanTexts texts(words);
  const std::vector<float> scores = values(texts.cells.back(), DType::f32, 5);
  std::vector<int32_t> known;
  for (const int32_t n : words) {
    for (int32_t i = 0; i < 2 * std::max(0, n - 2); ++i) known.push_back(i);
  }
  for (const std::vector<int32_t>& given :
       {std::vector<int32_t>(8, 0), std::vector<int32_t>{1, 0, 0, 1, 1, 0, 1, 0}}) {
    EXPECT_EQ(parsed(words, scores, given, known, DeviceKind::cuda),
              parsed(words, scores, given, known));
  }
}

}  // namespace
}  // namespace hone::ops
