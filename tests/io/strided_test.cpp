// Views larger than the reader's window, cut in every awkward way, from several threads.
#include <gtest/gtest.h>

#include <thread>

#include "io/weights.h"
#include "scratch.h"
#include "torch_bytes.h"

namespace hone::io {
namespace {

using namespace torch_bytes;

constexpr int64_t kStored = 700 * 600;

struct View {
  std::string name;
  int64_t offset;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

const std::vector<View> kViews = {
    {"Transposed", 0, {600, 700}, {1, 600}},
    {"Column", 5, {700}, {600}},
    {"FarColumn", 7, {70, 1}, {6000, 1}},
    {"FarRows", 3, {60, 2}, {6000, 3000}},
    {"EveryOther", 1, {350, 300}, {1200, 2}},
    {"Permuted", 0, {30, 7, 100, 20}, {1, 60000, 600, 30}},
    {"LastFirst", 11, {4, 100, 1000}, {3, 4000, 4}},
    {"Overlapping", 0, {500, 800}, {1, 1}},
    {"Repeated", 9, {10, 500, 2}, {0, 3, 0}},
};

/// Storage element `i` holds `i`: exact in fp32.
float wanted(const View& view, int64_t element) {
  int64_t at = view.offset;
  for (size_t d = view.sizes.size(); d-- > 0;) {
    at += element % view.sizes[d] * view.strides[d];
    element /= view.sizes[d];
  }
  return static_cast<float>(at);
}

template <typename T>
std::string make_file(const Scratch& scratch, const std::string& type) {
  std::string bytes;
  for (int64_t i = 0; i < kStored; ++i) bytes += le(static_cast<T>(i));
  std::vector<std::pair<std::string, std::string>> state;
  for (const View& view : kViews) {
    state.emplace_back(view.name,
                       tensor(storage(type, kStored), view.offset, view.sizes, view.strides));
  }
  return scratch.write("pytorch_model.bin",
                       zip({{"a/data.pkl", pickle(dict(state))}, {"a/data/0", bytes}}));
}

void expect_range(const Weights& weights, const View& view, int64_t first, int64_t count) {
  std::vector<float> got(static_cast<size_t>(count), -1.0f);
  weights.read(*weights.find(view.name), first, count, got.data());
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(got[static_cast<size_t>(i)], wanted(view, first + i))
        << view.name << " element " << first + i << " of [" << first << ", +" << count << ")";
  }
}

void expect_views(const Weights& weights) {
  for (const View& view : kViews) {
    const TensorInfo* tensor = weights.find(view.name);
    ASSERT_NE(tensor, nullptr);
    ASSERT_FALSE(tensor->place.strides.empty());
    const int64_t all = tensor->elements;
    const int64_t row = std::max<int64_t>(1, all / view.sizes[0]);
    expect_range(weights, view, 0, all);
    expect_range(weights, view, all / 3, all / 2);
    expect_range(weights, view, row, row);
    expect_range(weights, view, row - 1, std::min(all - row + 1, 2 * row + 3));
    expect_range(weights, view, all - 1, 1);
    expect_range(weights, view, all, 0);
  }
}

TEST(Strided, Fp32) {
  const Scratch scratch;
  expect_views(*Weights::open(make_file<float>(scratch, "FloatStorage")));
}

TEST(Strided, Int64IsConverted) {
  const Scratch scratch;
  expect_views(*Weights::open(make_file<int64_t>(scratch, "LongStorage")));
}

TEST(Strided, ThreadsShareWeights) {
  const Scratch scratch;
  const auto weights = Weights::open(make_file<double>(scratch, "DoubleStorage"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (const View& view : kViews)
        expect_range(*weights, view, i, weights->find(view.name)->elements - i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hone::io
