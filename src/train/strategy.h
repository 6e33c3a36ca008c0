#pragma once

#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "comm/communicator.h"
#include "train/slices.h"
#include "train/stepper.h"

namespace hone::train {

/// The batches of a step that one slice has, in order. Any may be empty.
using SliceBatches = std::vector<data::Batch>;

/// Computes a step's gradient over all ranks and devices: behind run() the optimiser's arrays hold
/// the same sum, bit for bit, on every rank.
class Strategy {
 public:
  struct Parts {
    const Options& options;
    comm::Communicator& ranks;
    models::Model& model;
    const ops::LossOptions& loss;
    optim::Optimizer& optimizer;
    Stepper& stepper;
    ThreadPool& pool;
    const std::vector<float>* teacher = nullptr;  ///< see Stepper
  };
  /// The strategy that the options name. All parts must outlive it.
  static std::unique_ptr<Strategy> make(const Parts& parts);
  virtual ~Strategy() = default;

  /// Hears of each batch, in order of the slices, with its loss; null where it was empty.
  using Done = FunctionRef<void(const data::Batch& batch, Stepper::Ticket loss)>;
  /// `batches` counts those of each slice that belong to the step.
  virtual void run(const std::vector<SliceBatches>& slices, size_t batches, const StepState& state,
                   const Done& done) = 0;

  /// Gives the bytes of gradients that this rank has sent.
  virtual uint64_t bytes() const { return 0; }

 protected:
  explicit Strategy(const Parts& parts) : parts_(parts) {}
  /// Adds up the gradients of one slice's batches; `passed` hears of the last one's steps. Empty
  /// batches run where `runs_empty`. Gives false where nothing was run.
  bool run_slice(const SliceBatches& slice, size_t batches, const StepState& state,
                 const Done& done, const Stepper::Passed& passed = {}, bool runs_empty = false);

  Parts parts_;
};

}  // namespace hone::train
