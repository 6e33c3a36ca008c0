#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "infer/streamed_weights.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "plan/execution.h"

namespace hone::infer {

/// A forward pass that runs layer by layer: between layers sequences may leave the pack, and the
/// weights of one layer need not be there while another runs.
class Layered {
 public:
  /// Hears of a pass. All are optional.
  struct Hooks {
    /// After a layer with an exit (counted from 1): `logits` has a row for each of `sequences`, the
    /// ones that are left, by their place in the batch. Sets `leave` for those that are done; it
    /// comes all false, one a sequence.
    std::function<void(size_t layer, std::span<const int64_t> sequences, const float* logits,
                       std::vector<bool>& leave)>
        decide;
    /// Before a layer with an exit: whether one of the sequences may leave it. If so, what the exit
    /// reads is computed first, and the rest of the layer for those that stay. Absent: none may.
    std::function<bool(std::span<const int64_t> sequences)> may_leave;
    /// The last layer's answer to a sequence that never left.
    std::function<void(int64_t sequence, std::span<const float> row)> finish;
  };

  /// With the encoder's own weights, on its device. On a GPU they are sent there by its
  /// parameters' refresh(). All must outlive this.
  Layered(models::Encoder& encoder, const models::OutputOptions& output, ThreadPool& pool);
  /// With weights that come and go.
  Layered(const models::Encoder& encoder, const models::OutputOptions& output,
          StreamedWeights& weights, ThreadPool& pool);

  /// The matrices that a pass reads, one after the other.
  std::vector<int32_t> matrices() const;
  /// Of the embeddings and of the layers.
  size_t parts() const { return parts_.size(); }
  const models::LayerForward& part(size_t i) const { return parts_[i]; }
  void run(const models::Batch& batch, const Hooks& hooks);
  size_t arena_bytes() const { return arena_->host.size() + arena_->device.size(); }
  /// What a pass over these extents takes beside the weights.
  size_t bytes_for(const Extents& extents) const;

 private:
  void open(const WeightArrays& weights, ThreadPool& pool, bool splits);
  void run_part(const models::LayerForward& part, Execution& execution, const models::Batch& batch);
  void run_streamed(const models::LayerForward& part, Execution& execution);
  /// The parts of a layer, and those who leave between or behind them.
  void run_whole(size_t i, models::Batch& batch, const Hooks& hooks);
  void run_split(size_t i, models::Batch& batch, const Hooks& hooks);
  /// Who leaves a layer; empty where nobody does.
  std::vector<bool> ask(size_t i, const float* logits, const Hooks& hooks) const;
  /// Takes x out of a part's output, without those that leave, and shrinks the batch.
  void carry(size_t i, const std::vector<bool>& leave, models::Batch& batch);
  void carry_on_gpu(size_t i, const std::vector<bool>& leave, models::Batch& batch);
  /// Without those that leave.
  void shrink(const std::vector<bool>& leave, models::Batch& batch);

  const models::Encoder& encoder_;
  StreamedWeights* streamed_ = nullptr;
  std::vector<models::LayerForward> parts_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  std::vector<Execution> executions_;
  std::vector<models::SplitLayer> split_;  ///< by depth; none of streamed weights or on a GPU
  std::vector<Execution> looks_;
  std::vector<Execution> rests_;
  std::vector<std::byte> x_;        ///< between two layers
  CudaBuffer gpu_x_;                ///< the same on a GPU
  CudaBuffer gpu_rows_;             ///< which of the rows before stay
  std::vector<std::byte> kv_;       ///< within a split one
  std::vector<int64_t> sequences_;  ///< that are left
};

}  // namespace hone::infer
