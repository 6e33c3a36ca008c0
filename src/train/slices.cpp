#include "train/slices.h"

namespace hone::train {

Slices slices_of(const ParallelOptions& options, const comm::Communicator& ranks) {
  const auto rank = static_cast<size_t>(ranks.rank()), size = static_cast<size_t>(ranks.size());
  if (options.strategy == StrategyKind::dp) {
    const auto devices = static_cast<size_t>(options.devices);
    return {0, devices, devices};
  }
  if (options.virtual_ranks > 0) {
    const auto all = static_cast<size_t>(options.virtual_ranks);
    return {rank * (all / size), all / size, all};
  }
  return {rank, 1, size};
}

SliceLoader::SliceLoader(const data::SampleStore& store, const data::Processor& processor,
                         const data::Sampler& sampler, const data::LoaderOptions& options,
                         const Slices& slices, ShareSchedule& shares)
    : ahead_(static_cast<uint64_t>(options.ahead())) {
  for (size_t slice = slices.first; slice < slices.first + slices.count; ++slice) {
    data::LoaderOptions own = options;
    if (slices.total > 1) {
      own.cut = [&store, &shares, slice](uint64_t number, std::vector<int64_t>& samples) {
        const std::vector<double> now = shares.at(number);
        deal(store.lengths(), share_counts(std::ssize(samples), now), slice, samples);
      };
    }
    loaders_.push_back(std::make_unique<data::Loader>(store, processor, sampler, own));
  }
}

bool SliceLoader::next(std::vector<data::Batch*> slices) {
  bool more = true;
  for (size_t i = 0; i < loaders_.size(); ++i) more = loaders_[i]->next(*slices[i]) && more;
  if (more) ++taken_;
  return more;
}

double SliceLoader::waiting_seconds() const {
  double seconds = 0;
  for (const auto& loader : loaders_) seconds += loader->waiting_seconds();
  return seconds;
}

}  // namespace hone::train
