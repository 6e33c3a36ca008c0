#include "train/data_parallel.h"

#include <algorithm>

#include "base/background.h"
#include "comm/tree_sum.h"

namespace hone::train {

/// A device: its threads, its gradients and what runs on it.
struct DataParallel::Device {
  Device(const Parts& parts, int threads, bool first) : pool(threads) {
    if (!first) {
      // SGD without momentum keeps no array but the gradients, which is all that is wanted.
      const optim::OptimizerOptions gradients_alone{.kind = optim::OptimizerKind::sgd};
      own = optim::Optimizer::make(parts.model.parameters(), parts.optimizer.trainable(),
                                   gradients_alone);
    }
    stepper =
        std::make_unique<Stepper>(parts.model, parts.loss, first ? parts.optimizer : *own, pool,
                                  parts.options.step, parts.options.planned, parts.teacher);
  }

  ThreadPool pool;
  std::unique_ptr<optim::Optimizer> own;
  std::unique_ptr<Stepper> stepper;
  std::vector<Stepper::Ticket> losses;
};

DataParallel::DataParallel(const Parts& parts) : Strategy(parts) {
  const auto count = static_cast<int>(parts.options.parallel.devices);
  const int threads = std::max(1, parts.pool.size() / count);
  for (int i = 0; i < count; ++i) {
    devices_.push_back(std::make_unique<Device>(parts, threads, i == 0));
  }
}

DataParallel::~DataParallel() = default;

void DataParallel::run(const std::vector<SliceBatches>& slices, size_t batches,
                       const StepState& state, const Done& done) {
  parts_.model.parameters().refresh(parts_.pool);
  std::vector<std::future<void>> running;
  for (size_t i = 0; i < devices_.size(); ++i) {
    running.push_back(in_background([&, i] {
      Device& device = *devices_[i];
      device.losses.clear();
      for (size_t batch = 0; batch < batches; ++batch) {
        const data::Batch& own = slices[i][batch];
        device.losses.push_back(own.size() > 0 ? device.stepper->start(own, state) : nullptr);
      }
    }));
  }
  for (std::future<void>& each : running) each.wait();
  for (std::future<void>& each : running) each.get();
  sum_gradients();
  for (size_t i = 0; i < devices_.size(); ++i) {
    for (size_t batch = 0; batch < batches; ++batch) {
      done(slices[i][batch], devices_[i]->losses[batch]);
    }
  }
}

void DataParallel::sum_gradients() {
  const GradientArray sum = parts_.optimizer.gradient_array();
  std::vector<const float*> from = {static_cast<const float*>(sum.data)};
  for (size_t i = 1; i < devices_.size(); ++i) {
    from.push_back(static_cast<const float*>(devices_[i]->own->gradient_array().data));
  }
  const auto count = static_cast<int64_t>(sum.bytes / sizeof(float));
  parts_.pool.run((count + comm::kSumBlock - 1) / comm::kSumBlock, [&](int64_t block, int) {
    const int64_t begin = block * comm::kSumBlock;
    comm::tree_sum(from.data(), static_cast<int>(from.size()), begin,
                   std::min(comm::kSumBlock, count - begin), static_cast<float*>(sum.data) + begin);
  });
  for (const nn::Parameter& parameter : parts_.model.parameters().list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    uint8_t* touched = parts_.optimizer.gradients().touched[slot];
    if (!touched) continue;
    for (size_t i = 1; i < devices_.size(); ++i) {
      const uint8_t* more = devices_[i]->own->gradients().touched[slot];
      for (int64_t row = 0; row < parameter.weight.rows; ++row) touched[row] |= more[row];
    }
  }
  for (size_t i = 1; i < devices_.size(); ++i) devices_[i]->own->drop_gradients();
}

}  // namespace hone::train
