#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plan/value.h"

namespace hone {

class Frame;

/// What stands in an input's rows behind those of the batch, where a GPU's plan runs for more rows
/// than there are.
enum class Filler : uint8_t {
  zero,
  minus_one,  ///< an index of no row, a label that does not count
  last,       ///< the batch's last element once more: offsets of sequences without tokens
};

/// One kernel call of a plan. `run` finds its arrays through the frame; nothing of a particular
/// batch is baked into it.
struct Step {
  const char* name;  ///< of the op, a literal: times are summed under it
  std::vector<Value> reads;
  std::vector<Value> writes;
  std::function<void(const Frame&)> run;
  /// Scratch bytes that `run` wants for these extents and threads; empty means none.
  std::function<size_t(const Extents&, int threads)> workspace = {};
  /// Multiply-adds count as two; empty means not worth counting.
  std::function<double(const Extents&)> flops = {};
  Weight weight = {};  ///< the one it is about, for messages; may be absent
  /// Adds to gradients of weights, so that it counts also where nobody reads what it writes.
  bool trains = false;
  /// Weights whose gradients it sets (=), at the places where they are kept: what was there before
  /// is not read, and no step before touches it. See Execution::lend().
  std::vector<Weight> sets = {};
  bool product = false;    ///< on a GPU: of a library whose algorithm can be tuned
  std::string scope = {};  ///< the plan's when it was added
};

/// A recorded list of steps over values; knows no op. Recording happens once, running many times
/// (see Execution).
class Plan {
 public:
  /// Records for a GPU: ops emit its kernels. Before anything is recorded.
  void set_gpu(bool gpu) { gpu_ = gpu; }
  bool gpu() const { return gpu_; }
  /// On a GPU: runs may be for more sequences than the batch has, which give rows nobody reads.
  void set_pads_sequences() { pads_sequences_ = true; }

  /// An array of the caller's, bound before each run.
  Value input(DType dtype, Axis rows, int64_t width, Filler filler = Filler::zero);
  /// The same; of a plan for a GPU it lies there already, with as many rows as the bucket has.
  Value resident(DType dtype, Axis rows, int64_t width);
  /// An array that is part of the plan.
  Value constant(std::vector<float> values);
  /// An array that lives in the plan's arena from the first step that writes it to the last that
  /// reads it.
  Value temporary(DType dtype, Axis rows, int64_t width);
  /// The same, of so many bytes as `bytes` says: a u8 value without a width.
  Value temporary(std::function<size_t(const Extents&)> bytes);
  /// Marks a temporary that is read after the run: its memory is not reused.
  void keep(Value value);
  void add(Step step);
  /// Names, for messages, the part of the model that the steps from now on belong to ("layer 3").
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  /// From then on `run` follows each step for each value of `dtype` that it wrote.
  void on_write(DType dtype, std::function<void(const Frame&, Value)> run);
  /// `copy` holds the bits of `original` once more: who reads it reads the original instead, and
  /// prune() leaves out the step that writes it.
  void alias(Value copy, Value original);
  /// Leaves out the steps that write only what no step reads and nobody keeps. Once, when all is
  /// recorded. Gives how many of the first `count` steps are left.
  size_t prune(size_t count = 0);

  const std::vector<Step>& steps() const { return steps_; }
  double flops(const Extents& extents) const;

 private:
  friend class Execution;
  friend class GpuRunner;
  struct Entry {
    Value value;
    bool external = false;
    bool kept = false;
    bool resident = false;
    Filler filler = Filler::zero;
    std::function<size_t(const Extents&)> bytes = {};  ///< empty: by rows, width and dtype
    std::vector<float> constant = {};
    int32_t original = -1;  ///< the value whose memory this one reads; -1: its own
    int32_t first = -1;     ///< steps, inclusive
    int32_t last = -1;
  };
  Value append(DType dtype, Axis rows, int64_t width, bool external);
  size_t bytes_of(const Entry& entry, const Extents& extents) const;
  Entry& original(Value value);
  void touch(const Step& step, int32_t index);

  std::vector<Entry> entries_;
  std::vector<Step> steps_;
  bool gpu_ = false;
  bool pads_sequences_ = false;
  std::string scope_;
  DType written_dtype_ = DType::f32;
  std::function<void(const Frame&, Value)> on_write_;
};

}  // namespace hone
