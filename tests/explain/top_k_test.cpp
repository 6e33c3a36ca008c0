#include "explain/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "explain/concept_set.h"
#include "explain/hubs.h"
#include "kernels/cpu/quantize.h"

namespace hone::explain {
namespace {

float noise(uint64_t i) {
  return static_cast<float>(static_cast<double>((i * 0x9e3779b97f4a7c15u) >> 40) / 8388608.0 - 1.0);
}

/// Vectors in any dtype, from a function of row and place.
struct TestRows {
  Buffer data;
  std::vector<float> scales, biases;
  ConceptRows rows;

  template <typename Value>
  TestRows(DType dtype, int64_t count, int64_t width, bool biased, Value value) {
    const int64_t stride = row_stride(dtype, width);
    data = Buffer(static_cast<size_t>(count * stride) * dtype_size(dtype));
    std::memset(data.data(), dtype == DType::u8 ? 128 : 0, data.size());
    std::vector<float> row(static_cast<size_t>(width));
    std::vector<int8_t> quantized(static_cast<size_t>(width));
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t i = 0; i < width; ++i) row[static_cast<size_t>(i)] = value(r, i);
      if (dtype == DType::u8) {
        scales.push_back(kernels::quantize_symmetric(row.data(), width, quantized.data()));
      }
      for (int64_t i = 0; i < width; ++i) {
        const auto at = static_cast<size_t>(r * stride + i), j = static_cast<size_t>(i);
        if (dtype == DType::f32) data.as<float>()[at] = row[j];
        if (dtype == DType::bf16) data.as<bf16>()[at] = to_bf16(row[j]);
        if (dtype == DType::u8) data.as<uint8_t>()[at] = static_cast<uint8_t>(quantized[j] + 128);
      }
      biases.push_back(noise(static_cast<uint64_t>(r) + 99) * 3);
    }
    rows = {dtype, count, width, data.data(), scales.data(), biased ? biases.data() : nullptr};
  }
};

std::vector<Neighbour> found(const TestRows& of, Scan scan, const std::vector<float>& queries,
                             int64_t k, int threads = 1,
                             std::span<const std::span<const int32_t>> excluded = {}) {
  ThreadPool pool(threads);
  std::vector<Neighbour> out;
  const auto count = static_cast<int64_t>(queries.size()) / of.rows.width;
  TopK(of.rows, scan, pool).search(queries.data(), count, k, excluded, pool, out);
  return out;
}

std::vector<float> noise_queries(int64_t count, int64_t width) {
  std::vector<float> out;
  for (int64_t i = 0; i < count * width; ++i) {
    out.push_back(noise(static_cast<uint64_t>(i) + 5'000'000));
  }
  return out;
}

TEST(TopK, IsWhatASortGives) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
    for (const bool biased : {false, true}) {
      const int64_t width = 37, count = 501, k = 7;
      const TestRows rows(dtype, count, width, biased, [&](int64_t r, int64_t i) {
        return noise(static_cast<uint64_t>(r * width + i));
      });
      const auto queries = noise_queries(3, width);
      const auto neighbours = found(rows, Scan::exact, queries, k);
      std::vector<float> row(static_cast<size_t>(width));
      for (size_t q = 0; q < 3; ++q) {
        std::vector<std::pair<double, int32_t>> all;
        for (int64_t r = 0; r < count; ++r) {
          read_row(rows.rows, r, row.data());
          double sum = biased ? double{rows.biases[static_cast<size_t>(r)]} : 0;
          for (size_t i = 0; i < row.size(); ++i) {
            sum += double{row[i]} * double{queries[q * row.size() + i]};
          }
          all.emplace_back(-sum, static_cast<int32_t>(r));
        }
        std::sort(all.begin(), all.end());
        for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
          EXPECT_EQ(neighbours[q * 7 + i].index, all[i].second);
          EXPECT_NEAR(double{neighbours[q * 7 + i].score}, -all[i].first, 1e-4);
        }
      }
      EXPECT_EQ(found(rows, Scan::bytes, queries, k), neighbours);
    }
  }
}

/// Rows that differ by a last bit, by nothing, or by less than bytes can hold: the scan by bytes
/// must neither lose nor reorder one.
TEST(TopK, BytesKeepEveryTie) {
  const int64_t width = 96, count = 5000;
  const auto value = [&](int64_t r, int64_t i) {
    const float base = noise(static_cast<uint64_t>(i + r % 3 * width));
    if (r % 5 == 0) return base;  // equal rows, far apart
    if (r % 5 == 1) return std::nextafter(base, r % 2 ? 9.0f : -9.0f);
    if (r % 5 == 2) return base * (i == r % width ? 1.0001f : 1.0f);
    if (r % 5 == 3) return i == 0 ? 1000.0f : base * 1e-4f;  // one value takes all of the scale
    return 0.0f;
  };
  std::vector<float> queries = noise_queries(5, width);
  for (int64_t i = 0; i < width; ++i) {
    queries[static_cast<size_t>(i)] = value(0, i);
    queries[static_cast<size_t>(width + i)] = i == 3 ? 1e6f : 1e-6f;
  }
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8}) {
    const TestRows rows(dtype, count, width, false, value);
    for (const int64_t k : {1, 5, 64, 1500}) {
      const auto exact = found(rows, Scan::exact, queries, k);
      EXPECT_EQ(found(rows, Scan::bytes, queries, k), exact) << k;
      EXPECT_EQ(found(rows, Scan::bytes, queries, k, 2), exact) << k;
      EXPECT_EQ(found(rows, Scan::exact, queries, k, 2), exact) << k;
      for (size_t i = 1; i < static_cast<size_t>(k); ++i) {
        ASSERT_GE(exact[i - 1].score, exact[i].score);
        if (exact[i - 1].score == exact[i].score) {
          ASSERT_LT(exact[i - 1].index, exact[i].index);
        }
      }
    }
  }
}

TEST(TopK, AQueryAloneAsInABatch) {
  const int64_t width = 50;
  const TestRows rows(DType::f32, 6000, width, true, [&](int64_t r, int64_t i) {
    return noise(static_cast<uint64_t>(r * width + i));
  });
  const auto queries = noise_queries(71, width);
  for (const Scan scan : {Scan::exact, Scan::bytes}) {
    const auto together = found(rows, scan, queries, 5);
    for (const size_t q : {size_t{0}, size_t{3}, size_t{31}, size_t{32}, size_t{70}}) {
      const std::vector<float> one(queries.begin() + static_cast<int64_t>(q) * width,
                                   queries.begin() + static_cast<int64_t>(q + 1) * width);
      const auto alone = found(rows, scan, one, 5);
      EXPECT_TRUE(
          std::equal(alone.begin(), alone.end(), together.begin() + static_cast<int64_t>(q) * 5));
    }
  }
}

TEST(TopK, FewerThanKAndExclusions) {
  const TestRows rows(DType::f32, 4, 2, false,
                      [](int64_t r, int64_t) { return static_cast<float>(r); });
  const std::vector<float> query = {1, 1};
  for (const Scan scan : {Scan::exact, Scan::bytes}) {
    const auto all = found(rows, scan, query, 6);
    const std::vector<Neighbour> wanted = {{3, 6}, {2, 4}, {1, 2}, {0, 0}, {-1, 0}, {-1, 0}};
    EXPECT_EQ(all, wanted);
    const std::vector<int32_t> list = {0, 3};
    const std::vector<std::span<const int32_t>> excluded = {list};
    EXPECT_EQ(found(rows, scan, query, 2, 1, excluded), (std::vector<Neighbour>{{2, 4}, {1, 2}}));
    EXPECT_EQ(found(rows, scan, query, 3, 1, excluded),
              (std::vector<Neighbour>{{2, 4}, {1, 2}, {-1, 0}}));
    EXPECT_TRUE(found(rows, scan, query, 0).empty());
    EXPECT_TRUE(found(rows, scan, {}, 5).empty());
  }
}

TEST(TopK, QueriesThatAreNoNumbersOrTooLarge) {
  const TestRows rows(DType::f32, 300, 2, false,
                      [](int64_t r, int64_t) { return static_cast<float>(r % 7); });
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& query : std::vector<std::vector<float>>{
           {nan, 1}, {3e38f, 3e38f}, {1e30f, -1e30f}, {0, 0}, {1e-40f, 1e-42f}}) {
    EXPECT_EQ(found(rows, Scan::bytes, query, 5), found(rows, Scan::exact, query, 5)) << query[0];
  }
  EXPECT_EQ(found(rows, Scan::exact, {nan, 1}, 1)[0].index, -1);
}

TEST(TopK, HubsAreTakenDown) {
  // Row 0 is near to every sentence, rows 1 to 4 each to one of them.
  const int64_t width = 4;
  const TestRows rows(DType::f32, 5, width, false, [](int64_t r, int64_t i) {
    return r == 0 ? 0.6f : r - 1 == i ? 0.5f : 0.0f;
  });
  std::vector<float> sentences(16);
  for (size_t i = 0; i < 4; ++i) sentences[i * 5] = 1;
  EXPECT_EQ(found(rows, Scan::exact, sentences, 1)[2].index, 0);
  ThreadPool pool(1);
  const auto biases = hub_biases(rows.rows, sentences.data(), 4, 4, pool);
  EXPECT_NEAR(biases[0], -0.6, 1e-6);
  EXPECT_NEAR(biases[1], -0.125, 1e-6);
  ConceptRows corrected = rows.rows;
  corrected.biases = biases.data();
  std::vector<Neighbour> out;
  TopK(corrected, Scan::bytes, pool).search(sentences.data(), 4, 1, {}, pool, out);
  for (int32_t q = 0; q < 4; ++q) EXPECT_EQ(out[static_cast<size_t>(q)].index, q + 1);
}

TEST(Hubs, VectorsGetTheirBiasesByCentredSentences) {
  ConceptSet concepts(2, 0);
  const float along[] = {3, 1}, aside[] = {1, 3}, back[] = {-1, -1};
  concepts.add("along", along, -1, 0);
  concepts.add("aside", aside, -1, 1);
  concepts.add("back", back, -1, 2);
  SearchVectors vectors = search_vectors(concepts, true);  // the mean is (1, 1)
  ThreadPool pool(1);
  const std::vector<float> sentences = {5, 1, 9, 1};  // centred both lie along the first axis
  correct_hubs(sentences, vectors, pool);
  ASSERT_EQ(vectors.biases.size(), 3u);
  EXPECT_NEAR(vectors.biases[0], -1, 1e-6);
  EXPECT_NEAR(vectors.biases[1], 0, 1e-6);
  EXPECT_NEAR(vectors.biases[2], std::sqrt(0.5), 1e-6);
  EXPECT_EQ(vectors.rows().biases, vectors.biases.data());
}

TEST(Hubs, TheCommonestConceptIsCountedOnceAQuery) {
  const std::vector<Neighbour> found = {{3, 1}, {1, 0},  {2, 1}, {3, 0},
                                        {3, 1}, {-1, 0}, {4, 1}, {-1, 0}};
  EXPECT_EQ(commonest_share(found, 2), 0.75);
  EXPECT_EQ(commonest_share({}, 2), 0);
  EXPECT_EQ(hub_stride(0), 1);
  EXPECT_EQ(hub_stride(4096), 1);
  EXPECT_EQ(hub_stride(4097), 2);
}

}  // namespace
}  // namespace hone::explain
