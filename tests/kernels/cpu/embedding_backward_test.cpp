#include "kernels/cpu/embedding_backward.h"

#include "device/memory.h"
#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

template <typename T>
class EmbeddingBackward : public testing::Test {};
using Types = testing::Types<float, bf16, double>;
TYPED_TEST_SUITE(EmbeddingBackward, Types);

template <typename T>
std::vector<T> values_of(int64_t count, uint32_t seed) {
  const auto values = random_values<float>(count, seed);
  std::vector<T> result;
  for (const float value : values) result.push_back(from_float<T>(value));
  return result;
}

TYPED_TEST(EmbeddingBackward, AddsEveryTokenToItsRow) {
  struct Case {
    int64_t tokens, width;
    int32_t entries;  // 0: no ids, all of row 0
  };
  for (const Case& c : std::vector<Case>{{0, 8, 5},
                                         {1, 1, 1},
                                         {63, 15, 4},
                                         {64, 16, 2},
                                         {65, 17, 100},
                                         {300, 64, 3000},
                                         {500, 384, 7},
                                         {130, 33, 0},
                                         {0, 33, 0}}) {
    const int64_t tokens = c.tokens, width = c.width;
    const int32_t entries = c.entries;
    SCOPED_TRACE(std::to_string(tokens) + " x " + std::to_string(width));
    std::mt19937 engine(5);
    std::vector<int32_t> ids(tokens);
    for (int32_t& id : ids) id = entries == 0 ? 0 : static_cast<int32_t>(engine() % entries);
    if (tokens > 0 && entries > 0) ids.back() = entries - 1;
    const int64_t rows = std::max(entries, 1);
    const auto dsum = values_of<TypeParam>(tokens * width, 1);
    std::vector<double> expected(rows * width, 0.25);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < width; ++i) {
        expected[ids[t] * width + i] += double(to_float(dsum[t * width + i]));
      }
    }
    for_each_isa([&] {
      std::vector<Accumulator<TypeParam>> first;
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        std::vector<Accumulator<TypeParam>> table(rows * width, 0.25);
        Buffer workspace(embedding_backward_workspace(tokens));
        embedding_backward(dsum.data(), entries == 0 ? nullptr : ids.data(), tokens, width,
                           table.data(), workspace.data(), pool);
        expect_gradients_close(table, expected, 2e-6);
        if (threads == 1) first = table;
        EXPECT_EQ(table, first);
      }
    });
  }
}

TEST(EmbeddingBackwardIds, AreSortedByAllTheirBits) {
  const int64_t entries = (1 << 23) + 5, tokens = 5000;
  std::mt19937 engine(5);
  std::vector<int32_t> ids(tokens);
  std::vector<float> expected(entries), table(entries);
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(engine() % entries);
    expected[id] += 1.0f;
  }
  const std::vector<float> ones(tokens, 1.0f);
  ThreadPool pool(2);
  Buffer workspace(embedding_backward_workspace(tokens));
  embedding_backward(ones.data(), ids.data(), tokens, 1, table.data(), workspace.data(), pool);
  EXPECT_TRUE(table == expected);
}

TYPED_TEST(EmbeddingBackward, LeavesThePaddingRowAlone) {
  const int64_t tokens = 200, width = 20;
  std::vector<int32_t> ids(tokens);
  for (int64_t t = 0; t < tokens; ++t) ids[t] = static_cast<int32_t>(t * 7 % 5);
  const auto dsum = values_of<TypeParam>(tokens * width, 1);
  ThreadPool pool(2);
  Buffer workspace(embedding_backward_workspace(tokens));
  std::vector<Accumulator<TypeParam>> all(5 * width), padded(5 * width);
  embedding_backward(dsum.data(), ids.data(), tokens, width, all.data(), workspace.data(), pool);
  embedding_backward(dsum.data(), ids.data(), tokens, width, padded.data(), workspace.data(), pool,
                     3);
  std::fill_n(all.begin() + 3 * width, width, 0);
  EXPECT_EQ(padded, all);
}

TYPED_TEST(EmbeddingBackward, ScattersRowsOfAGather) {
  for (const int64_t width : {1, 15, 16, 17, 768}) {
    const int64_t rows = 40;
    const std::vector<int32_t> index = {39, 0, 7, 8, 21};
    const auto count = static_cast<int64_t>(index.size());
    const auto dy = values_of<TypeParam>(count * width, 1);
    const auto before = values_of<TypeParam>(rows * width, 2);
    std::vector<TypeParam> set(rows * width, TypeParam{}), added = before;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        const int64_t at = index[i] * width + c;
        set[at] = dy[i * width + c];
        if constexpr (std::is_same_v<TypeParam, bf16>) {
          added[at] = to_bf16(to_float(before[at]) + to_float(dy[i * width + c]));
        } else {
          added[at] = before[at] + dy[i * width + c];
        }
      }
    }
    for_each_isa([&] {
      ThreadPool pool(2);
      std::vector<TypeParam> dx = before;
      scatter_rows(dy.data(), index.data(), count, rows, width, true, dx.data(), pool);
      EXPECT_TRUE(same_bits(dx.data(), set.data(), rows * width));
      dx = before;
      scatter_rows(dy.data(), index.data(), count, rows, width, false, dx.data(), pool);
      EXPECT_TRUE(same_bits(dx.data(), added.data(), rows * width));
      scatter_rows<TypeParam>(nullptr, nullptr, 0, 0, width, true, nullptr, pool);
    });
  }
}

}  // namespace
}  // namespace hone::kernels
