#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "infer/row_table.h"
#include "infer/weight_source.h"
#include "models/batch.h"
#include "models/encoder.h"

namespace hone::infer {

/// An encoder's weights, of which only some are in memory. Vectors are always there, and so are
/// some of the matrices, the same ones for good, as many as a budget allows; every other matrix
/// comes when a step wants it and goes when that is done. Of the embeddings only the rows that a
/// batch wants are there.
class StreamedWeights {
 public:
  /// All must outlive this.
  StreamedWeights(const models::Encoder& encoder, std::unique_ptr<WeightSource> source,
                  ThreadPool& pool);

  /// By slot: null while it is not there.
  std::span<const void* const> pointers() const { return pointers_; }

  /// What is held beside a batch at the least: what is always there, and the largest of the
  /// matrices.
  uint64_t fixed_bytes(std::span<const int32_t> order) const;
  /// What is held more than that where matrices that come and go may take the room that they come
  /// fastest in.
  uint64_t wide_extra(std::span<const int32_t> order) const;
  /// Embedding rows of a batch of so many tokens.
  uint64_t row_bytes(int64_t tokens) const;
  /// Reads what is always there. `order`: the matrices as a pass wants them, one after the other;
  /// `room`: bytes for those of them that stay, the ones that it wants most often and then the
  /// first; `wide`: the others take wide_extra() more. Rows are kept for batches of `tokens`.
  void load(std::span<const int32_t> order, uint64_t room, bool wide, int64_t tokens);

  /// Before a batch.
  void begin(const models::Batch& batch);
  /// Around a step that reads a matrix.
  void acquire(int32_t slot);
  void release(int32_t slot);
  /// Behind the last step: error where what was read may not be what was written.
  void finish() {
    source_->finish();
    cold_ = false;
  }

  size_t resident_matrices() const { return resident_; }
  uint64_t matrix_bytes(int32_t slot) const;

 private:
  const nn::Parameter& parameter(int32_t slot) const {
    return parameters_.list()[static_cast<size_t>(slot)];
  }
  bool is_embedding(int32_t slot) const;
  /// Those that follow, as far as they are not there and have not been asked for in this pass.
  void announce();

  const nn::Parameters& parameters_;
  const ops::EmbeddingWeights embeddings_;
  std::unique_ptr<WeightSource> source_;
  ThreadPool& pool_;
  std::vector<const void*> pointers_;
  Buffer small_;  ///< vectors, and tables that are not embeddings
  std::map<int32_t, std::unique_ptr<RowTable>> tables_;
  int64_t tokens_ = 0;  ///< that rows are kept for
  std::vector<int32_t> order_;
  bool cold_ = true;        ///< whether a matrix of this pass may not be in the page cache
  size_t position_ = 0;     ///< in the order, behind the matrix that came last in this pass
  size_t announced_ = 0;    ///< of the order, in this pass
  std::vector<bool> kept_;  ///< by slot: stays once it is there
  size_t resident_ = 0;
  bool wide_ = false;  ///< those that do not stay
  std::map<int32_t, HeldMatrix> held_;
};

}  // namespace hone::infer
