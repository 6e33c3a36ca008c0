#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "infer/streamed_weights.h"
#include "models/model.h"
#include "plan/runner.h"

namespace hone::infer {

/// A forward pass that runs layer by layer: between layers sequences may leave the pack, and the
/// weights of one layer need not be there while another runs.
class LayerwiseForward {
 public:
  /// Hears of a pass. All are optional.
  struct Hooks {
    /// Hears of each layer with an exit (counted from 1): `logits` has a row for each of
    /// `sequences`, the ones that are left, by their place in the batch. Sets `leave` for those
    /// that are done; it comes all false, one a sequence.
    std::function<void(size_t layer, std::span<const int64_t> sequences, const float* logits,
                       std::vector<bool>& leave)>
        decide;
    /// Says, before a layer with an exit, whether one of the sequences may leave it. If so, what
    /// the exit reads is computed first, and the rest of the layer for those that stay. Absent:
    /// none may.
    std::function<bool(std::span<const int64_t> sequences)> may_leave;
    /// Takes the last layer's answer to a sequence that never left.
    std::function<void(int64_t sequence, std::span<const float> row)> finish;
  };

  /// Runs with the model's own weights, on its device. On a GPU they are sent there by its
  /// parameters' refresh(). All arguments must outlive this. Without `planned`, steps run one by
  /// one and values share no memory.
  LayerwiseForward(models::Model& model, const models::OutputOptions& output, ThreadPool& pool,
                   bool planned = true);
  /// Runs with weights that come and go.
  LayerwiseForward(const models::Model& model, const models::OutputOptions& output,
                   StreamedWeights& weights, ThreadPool& pool, bool planned = true);

  /// Lists the matrices that a pass reads, one after the other.
  std::vector<int32_t> matrices() const;
  /// Counts the parts: the embeddings and the layers.
  size_t parts() const { return parts_.size(); }
  const models::Part& part(size_t i) const { return parts_[i]; }
  void run(const data::Batch& batch, const Hooks& hooks);
  size_t arena_bytes() const { return arena_->host.size() + arena_->device.size(); }
  /// Tells `sink` of every step from now on; null: nobody hears of them.
  void set_sink(RunSink* sink);
  /// Gives the bytes that a pass over these extents takes beside the weights.
  size_t bytes_for(const Extents& extents) const;

 private:
  void open(const WeightArrays& weights, ThreadPool& pool, bool splits, bool planned);
  void run_part(const models::Part& part, Runner& runner, const data::Batch& batch);
  void run_streamed(const models::Part& part, Runner& runner);
  /// Runs the parts of a layer, and lets samples leave between or behind them.
  void run_whole(size_t i, data::Batch& batch, const Hooks& hooks);
  void run_split(size_t i, data::Batch& batch, const Hooks& hooks);
  /// Asks who leaves a layer; gives an empty list where nobody does.
  std::vector<bool> ask(size_t i, const float* logits, const Hooks& hooks) const;
  /// Takes x out of a part's output, without those that leave, and shrinks the batch.
  void carry(size_t i, const std::vector<bool>& leave, data::Batch& batch);
  void carry_on_gpu(size_t i, const std::vector<bool>& leave, data::Batch& batch);
  /// Drops the samples that leave from the batch.
  void shrink(const std::vector<bool>& leave, data::Batch& batch);

  const models::Model& model_;
  StreamedWeights* streamed_ = nullptr;
  std::vector<models::Part> parts_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  std::vector<Runner> runners_;
  std::vector<models::SplitPart> split_;  ///< by depth; empty for streamed weights or on a GPU
  std::vector<Runner> exit_parts_;
  std::vector<Runner> remainders_;
  std::vector<std::byte> x_;        ///< rows between two layers
  CudaBuffer gpu_x_;                ///< rows between two layers, on a GPU
  CudaBuffer gpu_rows_;             ///< indices of the rows that stay
  std::vector<std::byte> kv_;       ///< keys and values within a split layer
  std::vector<int64_t> sequences_;  ///< sequences that are left
};

}  // namespace hone::infer
