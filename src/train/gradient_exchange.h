#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "nn/parameters.h"
#include "optim/optimizer.h"
#include "plan/plan.h"

namespace hone::train {

/// Sums the gradients of all ranks, on the processor, into each rank's own arrays. The arrays are
/// cut into buckets, whose sums start as soon as the backward pass has made their last element
/// final, while it goes on. Rows of tables travel by themselves, with their ids, where that is less
/// than the table; the sums have the same bits either way.
class GradientExchange {
 public:
  /// All arguments but the plan must outlive this. All ranks have recorded the same plan, and their
  /// arrays are laid out for the same instruction set.
  GradientExchange(comm::Communicator& ranks, optim::Optimizer& optimizer,
                   const nn::Parameters& parameters, const Plan& plan);

  /// Lists the numbers of steps behind which a bucket is final, rising.
  const std::vector<size_t>& cuts() const { return cuts_; }
  /// Says that so many steps of the last batch's plan have run: starts the buckets that are final.
  void passed(size_t steps);
  /// Starts what is left, and waits until all gradients are sums.
  void finish();

  /// Gives the bytes that this rank has put in since it was made.
  struct Bytes {
    uint64_t dense = 0;
    uint64_t rows = 0;  ///< rows of tables and their ids
  };
  const Bytes& bytes() const { return bytes_; }

 private:
  struct Bucket {
    size_t after = 0;  ///< steps behind which it is final
    float* data = nullptr;
    int64_t count = 0;
  };
  struct Table {
    float* gradient = nullptr;
    uint8_t* touched = nullptr;
    int64_t rows = 0;
    int64_t width = 0;
  };
  /// Lists the rows of one table that have a gradient, by rank.
  using RowIds = std::vector<std::vector<int32_t>>;

  void make_buckets(const nn::Parameters& parameters, const std::vector<size_t>& final_after);
  void start(const Bucket& bucket);
  void exchange_tables();
  std::vector<RowIds> gather_ids();
  bool is_sparse(const Table& table, const RowIds& ids) const;
  void add_rows(const Table& table, const RowIds& ids, std::vector<const float*>& from) const;

  comm::Communicator& ranks_;
  optim::Optimizer& optimizer_;
  std::vector<Bucket> buckets_;  ///< lie in the order in which they become final
  std::vector<Table> tables_;
  std::vector<size_t> cuts_;
  size_t started_ = 0;  ///< buckets of this step
  comm::Communicator::Ticket last_ = 0;
  Bytes bytes_;
};

}  // namespace hone::train
