#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/target.h"
#include "plan/axes.h"
#include "plan/value.h"

namespace hone {

class Frame;

/// Says what stands in an input's rows behind those of the batch, where a GPU's plan runs for more
/// rows than there are.
enum class Filler : uint8_t {
  zero,
  minus_one,  ///< an index of no row, a label that does not count
  last,       ///< the batch's last element once more: offsets of sequences without tokens
};

/// Rows of a table, named by an int32 value; an index below 0 names none.
struct TableRows {
  Weight table;
  Value indices;
};

/// One kernel call of a plan, and all that it touches. `run` finds its arrays through the frame;
/// nothing of a particular batch is baked into it. Streaming, the exchange of gradients, pruning
/// and traces read what stands here: a step that touches more than it says is a defect, which an
/// audited Runner reports.
struct Step {
  const char* name;  ///< the op's name, a literal: times are summed under it
  std::vector<Value> reads;
  std::vector<Value> writes;
  std::function<void(const Frame&)> run;
  /// Scratch bytes that `run` wants for these extents and threads; empty means none.
  std::function<size_t(const Extents&, int threads)> workspace = {};
  /// Multiply-adds count as two; empty means not worth counting.
  std::function<double(const Extents&)> flops = {};
  /// Weights that are read whole; absent ones are dropped. The first is the one it is about.
  std::vector<Weight> weights = {};
  std::vector<TableRows> tables = {};  ///< weights of which some rows are read
  std::vector<Weight> state = {};      ///< buffers that training reads and writes: statistics
  /// Weights whose gradients are given here: added to (+=) unless `sets` names them too. Absent and
  /// frozen ones are dropped by the op.
  std::vector<Weight> gradients = {};
  /// Lists the tables among `gradients`, with the rows that are added to.
  std::vector<TableRows> touches = {};
  /// Weights whose gradients are set (=), at the places where they are kept: what was there before
  /// is not read, and no step before touches it. See Runner::lend().
  std::vector<Weight> sets = {};
  bool product = false;    ///< whether a GPU's step is a library's product, which can be tuned
  std::string scope = {};  ///< the plan's scope when the step was added

  /// Says whether the step counts even where nobody reads what it writes.
  bool trains() const { return !gradients.empty() || !state.empty(); }
};

/// A recorded list of steps over values; knows no op. Recording happens once, running many times
/// (see Runner).
class Plan {
 public:
  /// Records for a device, whose kernels ops then emit. It is called before anything is recorded.
  void set_device(DeviceKind device) { device_ = device; }
  DeviceKind device() const { return device_; }
  bool gpu() const { return device_ == DeviceKind::cuda; }
  /// Says how the sizes of the values' axes come about; without axes they are taken as they are
  /// bound.
  void set_axes(std::shared_ptr<const Axes> axes) { axes_ = std::move(axes); }
  /// Fills in the derived sizes of a batch.
  Extents complete(const Extents& batch) const { return axes_ ? axes_->complete(batch) : batch; }
  /// Gives the sizes that a device which replays by buckets runs for this batch.
  Extents bucket(const Extents& batch) const { return axes_ ? axes_->bucket(batch) : batch; }

  /// Declares an array of the caller's, bound before each run.
  Value input(DType dtype, Axis rows, int64_t width, Filler filler = Filler::zero);
  /// Declares an array of the caller's that, in a plan for a GPU, lies there already with as many
  /// rows as the bucket has.
  Value resident(DType dtype, Axis rows, int64_t width);
  /// Declares an array that is part of the plan.
  Value constant(std::vector<float> values);
  /// Declares an array that lives in the plan's arena from the first step that writes it to the
  /// last that reads it.
  Value temporary(DType dtype, Axis rows, int64_t width);
  /// Declares a temporary of as many bytes as `bytes` says: a u8 value without a width.
  Value temporary(std::function<size_t(const Extents&)> bytes);
  /// Marks a temporary that is read after the run: its memory is not reused.
  void keep(Value value);
  void add(Step step);
  /// Names, for messages, the part of the model that the steps from now on belong to ("layer 3").
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  /// Has `run` follow each later step for each value of `dtype` that it wrote.
  void on_write(DType dtype, std::function<void(const Frame&, Value)> run);
  /// Says that `copy` holds the bits of `original` once more: who reads it reads the original
  /// instead, and prune() leaves out the step that writes it.
  void alias(Value copy, Value original);
  /// Leaves out the steps that write only what no step reads and nobody keeps. It is called once,
  /// when all is recorded. Gives how many of the first `count` steps are left.
  size_t prune(size_t count = 0);

  const std::vector<Step>& steps() const { return steps_; }
  double flops(const Extents& extents) const;
  /// Gives the bytes that a step reads and writes in memory: values, weights, gradients (twice
  /// those that are added to), and the rows of tables.
  double bytes_moved(const Step& step, const Extents& extents) const;
  /// Gives, by weight slot, the number of steps after which its gradient is final: behind that step
  /// it may be reduced, sent or applied while the rest runs. It is 0 where the plan gives no
  /// gradient. Memory that is lent to other values is the gradient's own again by then.
  std::vector<size_t> gradients_final_after() const;

 private:
  friend class Executor;
  friend class CpuExecutor;
  friend class CudaExecutor;
  struct Entry {
    Value value;
    bool external = false;
    bool kept = false;
    bool resident = false;
    Filler filler = Filler::zero;
    std::function<size_t(const Extents&)> bytes = {};  ///< empty: by rows, width and dtype
    std::vector<float> constant = {};
    int32_t original = -1;  ///< the value whose memory this one reads; -1: it has its own
    int32_t first = -1;     ///< steps in which the value lives, inclusive
    int32_t last = -1;
  };
  Value append(DType dtype, Axis rows, int64_t width, bool external);
  size_t bytes_of(const Entry& entry, const Extents& extents) const;
  Entry& original(Value value);
  void touch(const Step& step, int32_t index);

  std::vector<Entry> entries_;
  std::vector<Step> steps_;
  DeviceKind device_ = DeviceKind::cpu;
  std::shared_ptr<const Axes> axes_;
  std::string scope_;
  DType written_dtype_ = DType::f32;
  std::function<void(const Frame&, Value)> on_write_;
};

}  // namespace hone
