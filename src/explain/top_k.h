#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "device/memory.h"
#include "explain/concept_rows.h"

namespace hone::explain {

struct Neighbour {
  int32_t index = -1;  ///< -1: there were fewer
  float score = 0;

  bool operator==(const Neighbour&) const = default;
};

/// Says how a search goes through the vectors. Both find the same neighbours with the same scores,
/// bit for bit.
enum class Scan {
  exact,  ///< every vector as it is
  bytes,  ///< by bytes, a quarter of fp32's memory traffic; what might be among the best is scored
          ///< again as `exact` does
};

/// Finds the vectors of largest score, inner product and bias, for queries. Scores are sums in one
/// fixed order: a query finds the same with the same bits alone and beside others, on any number of
/// threads. Equal scores rank by index. A score that is no number is never found. Threads may share
/// it, each with a pool of its own.
class TopK {
 public:
  /// `rows` stay as they are while this is used. Scan::bytes makes a form of them in bytes (u8 rows
  /// serve as they are).
  TopK(const ConceptRows& rows, Scan scan, ThreadPool& pool);

  /// Finds the k best for each of `count` queries [count, width], best first; `out` becomes
  /// [count, k]. Where `excluded` is given it has one ascending list of indices a query, which that
  /// query never finds.
  void search(const float* queries, int64_t count, int64_t k,
              std::span<const std::span<const int32_t>> excluded, ThreadPool& pool,
              std::vector<Neighbour>& out) const;

 private:
  class Best;
  struct Queries;
  void make_bytes(ThreadPool& pool);
  void scan_exact(const float* queries, int64_t count, int64_t begin, int64_t end,
                  Best* best) const;
  void scan_bytes(const Queries& queries, int64_t begin, int64_t end, Best* best) const;
  void search_block(const float* from, int64_t count, int64_t k,
                    std::span<const std::span<const int32_t>> excluded, ThreadPool& pool,
                    Neighbour* out) const;
  void score(const float* queries, int64_t count, int64_t first, int64_t rows, float* out,
             int64_t ldo) const;

  ConceptRows rows_;
  Scan scan_;
  // What Scan::bytes reads: the bytes of rows, their scales, how far each row is from its bytes,
  // the lengths of the rows that the bytes stand for, and biases with room for their rounding.
  Buffer own_bytes_;
  const uint8_t* bytes_ = nullptr;
  std::vector<float> own_scales_;
  const float* scales_ = nullptr;
  std::vector<float> errors_;
  std::vector<float> norms_;
  std::vector<float> highest_biases_;
};

}  // namespace hone::explain
