#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "data/loader.h"
#include "train/options.h"
#include "train/shares.h"

namespace hone::train {

/// Says which parts of a global batch this process computes: [first, first + count) of `total`.
struct Slices {
  size_t first = 0;
  size_t count = 1;
  size_t total = 1;
};

/// One slice a rank; one a device under dp; virtual ranks are cut evenly among the real ones.
Slices slices_of(const ParallelOptions& options, const comm::Communicator& ranks);

/// The batches of this process's slices.
class SliceLoader {
 public:
  /// All arguments must outlive this. `shares` is by slice of the whole.
  SliceLoader(const data::SampleStore& store, const data::Processor& processor,
              const data::Sampler& sampler, const data::LoaderOptions& options,
              const Slices& slices, ShareSchedule& shares);

  /// Gives the next batch as its slices, of which any may be empty; false behind the last one.
  bool next(std::vector<data::Batch*> slices);
  /// Gives the number of the first batch that no rank can have begun to load.
  uint64_t first_free() const { return taken_ + ahead_; }
  double waiting_seconds() const;

 private:
  std::vector<std::unique_ptr<data::Loader>> loaders_;
  uint64_t taken_ = 0;
  uint64_t ahead_;
};

}  // namespace hone::train
