#include "explain/hubs.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace hone::explain {
namespace {

constexpr int64_t kMostSentences = 4096;
constexpr int64_t kSentencesOfAConcept = 10;

}  // namespace

int64_t hub_stride(int64_t rows) {
  return std::max<int64_t>(1, (rows + kMostSentences - 1) / kMostSentences);
}

std::vector<float> hub_biases(const ConceptRows& rows, const float* sentences, int64_t count,
                              int64_t k, ThreadPool& pool) {
  const int64_t stride = row_stride(DType::f32, rows.width);
  Buffer padded(static_cast<size_t>(count * stride) * sizeof(float));
  std::memset(padded.data(), 0, padded.size());
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(sentences + i * rows.width, rows.width, padded.as<float>() + i * stride);
  }
  const TopK search({DType::f32, count, rows.width, padded.data()}, Scan::exact, pool);
  std::vector<float> biases(static_cast<size_t>(rows.count)), vectors;
  std::vector<Neighbour> nearest;
  constexpr int64_t kBlock = 1024;
  for (int64_t first = 0; first < rows.count; first += kBlock) {
    const int64_t block = std::min(kBlock, rows.count - first);
    vectors.resize(static_cast<size_t>(block * rows.width));
    for (int64_t i = 0; i < block; ++i) {
      read_row(rows, first + i, vectors.data() + i * rows.width);
    }
    search.search(vectors.data(), block, k, {}, pool, nearest);
    for (int64_t i = 0; i < block; ++i) {
      double sum = 0;
      int64_t found = 0;
      for (int64_t j = i * k; j < (i + 1) * k; ++j) {
        const Neighbour& neighbour = nearest[static_cast<size_t>(j)];
        if (neighbour.index < 0) break;
        sum += double{neighbour.score};
        ++found;
      }
      if (found > 0) {
        biases[static_cast<size_t>(first + i)] =
            static_cast<float>(-sum / static_cast<double>(found));
      }
    }
  }
  return biases;
}

void correct_hubs(std::span<const float> sentences, SearchVectors& vectors, ThreadPool& pool) {
  std::vector<float> queries(sentences.begin(), sentences.end());
  const int64_t count = std::ssize(queries) / vectors.width;
  for (int64_t i = 0; !vectors.mean.empty() && i < count; ++i) {
    float* query = queries.data() + i * vectors.width;
    centre_vector(query, vectors.mean.data(), vectors.width, query);
  }
  vectors.biases = hub_biases(vectors.rows(), queries.data(), count, kSentencesOfAConcept, pool);
}

double commonest_share(std::span<const Neighbour> found, int64_t k) {
  std::unordered_map<int32_t, int64_t> times;
  int64_t most = 0;
  for (const Neighbour& each : found) {
    if (each.index >= 0) most = std::max(most, ++times[each.index]);
  }
  const int64_t queries = std::ssize(found) / std::max<int64_t>(k, 1);
  return queries > 0 ? static_cast<double>(most) / static_cast<double>(queries) : 0;
}

}  // namespace hone::explain
