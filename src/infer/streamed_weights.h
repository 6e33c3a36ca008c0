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
#include "models/model.h"

namespace hone::infer {

/// A model's weights, of which only some are in memory. Vectors are always there, and so are some
/// of the matrices, the same ones for good, as many as a budget allows; every other matrix comes
/// when a step wants it and goes when that is done. Tables that are read by rows have only those
/// rows in memory that a batch wants.
class StreamedWeights {
 public:
  /// `pass` says which tables are read by rows, and by which inputs. Model and pool must outlive
  /// this.
  StreamedWeights(const models::Model& model, const models::Pass& pass,
                  std::unique_ptr<WeightSource> source, ThreadPool& pool);

  /// Gives addresses by slot, null while one is not there.
  std::span<const void* const> pointers() const { return pointers_; }

  /// Gives the bytes that are held beside a batch at the least: what is always there, and the
  /// largest of the matrices.
  uint64_t fixed_bytes(std::span<const int32_t> order) const;
  /// Gives the bytes that are held more than that where matrices that come and go may take the room
  /// that they come fastest in.
  uint64_t huge_page_extra(std::span<const int32_t> order) const;
  /// Gives the bytes of the embedding rows of a batch of so many tokens.
  uint64_t row_bytes(int64_t tokens) const;
  /// Reads what is always there. `order`: the matrices as a pass wants them, one after the other;
  /// `room`: bytes for those of them that stay, the ones that it wants most often and then the
  /// first; `huge_pages`: the others take huge_page_extra() more. Rows are kept for batches of
  /// `tokens`.
  void load(std::span<const int32_t> order, uint64_t room, bool huge_pages, int64_t tokens);

  /// Begins a pass: reads the rows that the batch wants.
  void begin(const data::Batch& batch);
  /// These are called before and after a step that reads a matrix.
  void acquire(int32_t slot);
  void release(int32_t slot);
  /// Ends a pass: fails where what was read may not be what was written.
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
  void add_table(const TableRows& read, const models::Pass& pass);
  bool is_embedding(int32_t slot) const;
  /// Announces the matrices that follow, as far as they are not there and have not been asked for
  /// in this pass.
  void announce();

  const nn::Parameters& parameters_;
  std::unique_ptr<WeightSource> source_;
  ThreadPool& pool_;
  std::vector<const void*> pointers_;
  Buffer small_;  ///< vectors, and tables that are not embeddings
  /// A table of which some rows are there.
  struct Table {
    std::unique_ptr<RowTable> rows;
    size_t input;  ///< the input of a batch that names the rows
  };
  std::map<int32_t, Table> tables_;
  int64_t tokens_ = 0;  ///< rows are kept for batches of so many tokens
  std::vector<int32_t> order_;
  bool cold_ = true;        ///< whether a matrix of this pass may not be in the page cache
  size_t position_ = 0;     ///< place in the order behind the matrix that came last in this pass
  size_t announced_ = 0;    ///< place in the order up to which this pass has announced
  std::vector<bool> kept_;  ///< by slot: stays once it is there
  size_t resident_ = 0;
  bool huge_pages_ = false;  ///< whether matrices that do not stay lie on huge pages
  std::map<int32_t, HeldMatrix> held_;
};

}  // namespace hone::infer
