#include "kernels/cuda/concepts.h"

#include <numeric>

#include "kernels/cuda/gpu_test.h"

namespace hone::kernels::cuda {
namespace {

/// Concepts on both sides, and queries for them.
struct SearchCase {
  int64_t count, width, texts, k;
  bool centred;
};

class CudaConcepts : public GpuTest, public testing::WithParamInterface<SearchCase> {
 protected:
  /// Gives all scores of a text in double.
  std::vector<double> scores_of(int64_t text) const {
    const SearchCase& c = GetParam();
    std::vector<double> query;
    double squares = 0;
    for (int64_t i = 0; i < c.width; ++i) {
      query.push_back(double{u[text * c.width + i]} - (c.centred ? double{mean[i]} : 0));
      squares += query.back() * query.back();
    }
    std::vector<double> scores;
    for (int64_t r = 0; r < c.count; ++r) {
      double sum = c.centred ? double{biases[r]} * std::sqrt(squares) : 0;
      for (int64_t i = 0; i < c.width; ++i) sum += query[i] * double{vectors[r * stride + i]};
      scores.push_back(c.centred ? sum / std::sqrt(squares) : sum);
    }
    return scores;
  }
  /// Gives the concepts that a text must not find: text t is row t, and of row t are concepts t and
  /// 2 t + 1, where there are so many; later texts are no rows.
  std::vector<int32_t> own_of(int64_t text) const {
    std::vector<int32_t> own;
    if (text >= kRows) return own;
    for (const int64_t i : {text, 2 * text + 1}) {
      if (i < GetParam().count && (own.empty() || own[0] != i)) {
        own.push_back(static_cast<int32_t>(i));
      }
    }
    return own;
  }

  static constexpr int64_t kRows = 40;
  int64_t stride = 0;
  std::vector<float> vectors, biases, mean, norms, u;
};

TEST_P(CudaConcepts, AreThoseOfTheHighestScores) {
  const SearchCase& c = GetParam();
  stride = (c.width + 15) / 16 * 16;
  vectors.assign(static_cast<size_t>(c.count * stride), 0.0f);
  const auto values = random_floats(c.count * c.width, 1, DType::f32);
  for (int64_t i = 0; i < c.count * c.width; ++i) {
    vectors[i / c.width * stride + i % c.width] = values[i];
  }
  if (c.count > 6) {  // equal scores: the lower index ranks before
    std::copy_n(vectors.begin() + 3 * stride, stride, vectors.begin() + 6 * stride);
  }
  biases = random_floats(c.count, 2, DType::f32);
  if (c.count > 6) biases[6] = biases[3];
  mean = random_floats(c.width, 3, DType::f32);
  norms = random_floats(c.count, 4, DType::f32);
  u = random_floats(c.texts * c.width, 5, DType::f32);
  std::vector<int64_t> begins = {0}, rows(static_cast<size_t>(c.texts));
  std::vector<int32_t> own;
  for (int64_t row = 0; row < kRows; ++row) {
    for (const int32_t i : own_of(row)) own.push_back(i);
    begins.push_back(int64_t(own.size()));
  }
  std::iota(rows.begin(), rows.end(), int64_t{0});
  own.push_back(0);  // an array of nothing
  DeviceArray gv(stream(), DType::f32, vectors), gb(stream(), DType::f32, biases);
  DeviceArray gm(stream(), DType::f32, mean), gn(stream(), DType::f32, norms);
  DeviceArray gu(stream(), DType::f32, u);
  DeviceVector<int64_t> gbegins(stream(), begins), grows(stream(), rows);
  DeviceVector<int32_t> gown(stream(), own);
  ConceptTable host{c.count, c.width, stride, gv.floats()};
  if (c.centred) {
    host.biases = gb.floats();
    host.mean = gm.floats();
    host.norms = gn.floats();
  }
  host.rows = kRows;
  host.own_begins = gbegins.data();
  host.own = gown.data();
  DeviceVector<ConceptTable> table(stream(), {host});
  DeviceVector<int32_t> found(stream(), std::vector<int32_t>(size_t(c.texts * c.k), -7));
  DeviceArray similarity(stream(), DType::f32, c.texts * c.k);
  DeviceArray given(stream(), DType::f32, c.texts * c.k * c.width);
  const CudaBuffer workspace(api().search_concepts_workspace(c.texts, c.width, c.k));
  const ConceptSearch search{table.data(), c.texts,      c.width,      c.k,
                             gu.floats(),  grows.data(), found.data(), similarity.floats()};
  check(api().search_concepts(search, workspace.data(), handle()));
  check(api().concept_vectors(table.data(), found.data(), c.texts * c.k, c.width, given.floats(),
                              handle()));
  const auto indices = found.get();
  const auto got = similarity.get(), rebuilt = given.get();
  for (int64_t text = 0; text < c.texts; ++text) {
    SCOPED_TRACE("text " + std::to_string(text));
    const std::vector<double> scores = scores_of(text);
    const std::vector<int32_t> not_found = own_of(text);
    std::vector<double> allowed;
    for (int64_t r = 0; r < c.count; ++r) {
      if (!std::binary_search(not_found.begin(), not_found.end(), int32_t(r))) {
        allowed.push_back(scores[r]);
      }
    }
    std::sort(allowed.rbegin(), allowed.rend());
    const double bound = 1e-5 * std::sqrt(double(c.width)) * 8;
    for (int64_t i = 0; i < c.k; ++i) {
      const int64_t at = text * c.k + i;
      const int32_t index = indices[at];
      if (i >= int64_t(allowed.size())) {
        ASSERT_EQ(index, -1);
        ASSERT_EQ(got[at], 0.0f);
        for (int64_t w = 0; w < c.width; ++w) ASSERT_EQ(rebuilt[at * c.width + w], 0.0f);
        continue;
      }
      ASSERT_GE(index, 0);
      ASSERT_LT(index, c.count);
      ASSERT_FALSE(std::binary_search(not_found.begin(), not_found.end(), index));
      ASSERT_NEAR(got[at], scores[index], bound);
      ASSERT_NEAR(got[at], allowed[i], bound);
      if (i > 0) {
        ASSERT_TRUE(got[at - 1] > got[at] || (got[at - 1] == got[at] && indices[at - 1] < index));
      }
      for (int64_t w = 0; w < c.width; ++w) {
        const float value = vectors[index * stride + w];
        const float wanted = c.centred ? value * norms[index] + mean[w] : value;
        ASSERT_NEAR(rebuilt[at * c.width + w], wanted, 1e-5f * std::max(1.0f, std::abs(wanted)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, CudaConcepts,
    testing::Values(SearchCase{0, 8, 3, 2, true}, SearchCase{1, 1, 1, 1, false},
                    SearchCase{5, 16, 2, 9, true}, SearchCase{127, 17, 31, 5, true},
                    SearchCase{128, 64, 32, 5, false}, SearchCase{129, 40, 33, 1, true},
                    SearchCase{5000, 384, 70, 5, true}, SearchCase{70001, 32, 5, 40, true},
                    SearchCase{300, 24, 9, 70, true}, SearchCase{40, 20, 1, 50, false},
                    SearchCase{900, 48, 2100, 5, true}),
    [](const auto& test) {
      const SearchCase& c = test.param;
      return std::to_string(c.count) + "x" + std::to_string(c.width) + "_" +
             std::to_string(c.texts) + "_best_" + std::to_string(c.k);
    });

}  // namespace
}  // namespace hone::kernels::cuda
