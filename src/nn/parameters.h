#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "device/memory.h"
#include "device/target.h"
#include "nn/device_weights.h"
#include "plan/value.h"

namespace hone::nn {

enum class ParameterKind {
  matrix,  ///< [rows, width] of a matrix product, packed for the instruction set
  table,   ///< [rows, width], row-major, read by row; for int8 see kernels/cpu/embedding.h
  vector,  ///< [1, width] fp32
  state,   ///< [1, width] fp32 that training writes itself, such as running statistics
};

/// A slot and the checkpoint tensors whose rows fill it, one after the other.
struct Parameter {
  Weight weight;
  ParameterKind kind;
  std::vector<std::string> tensors;
  bool fp8 = false;       ///< plans for a GPU read it as fp8 with a scale a row
  float initial = 0;      ///< what a new model's state starts with
  std::string norm = {};  ///< module of a batch norm that is folded into it as it is loaded
  int64_t kernel = 0;     ///< side of a convolution's window; 0: it is no convolution's

  /// Says whether the parameter lies as one row of fp32.
  bool is_vector() const { return kind == ParameterKind::vector || kind == ParameterKind::state; }
};

/// A model's weights: declared while the model is built, allocated once as one arena, filled by a
/// loader. Every tensor is named as its family's checkpoints name it, without prefix.
///
/// On another device than the processor the arena here is what is loaded and saved; plans read a
/// copy on the device, made when they are about to run. Training changes that copy: see
/// refresh_host().
class Parameters {
 public:
  explicit Parameters(const Target& target) : target_(target) {}

  /// Declares a matrix whose tensors are stacked along rows: all have `width` columns and equal
  /// shares of `rows`. What is fp8 on the GPU is kept in fp32 here.
  Weight matrix(std::vector<std::string> tensors, int64_t rows, int64_t width, DType dtype);
  /// Declares the matrix of a convolution, [out, kernel, kernel, in] as [out, kernel * kernel *
  /// in]; checkpoints have [out, in, kernel, kernel].
  Weight convolution(std::string tensor, int64_t out, int64_t in, int64_t kernel, DType dtype);
  Weight table(std::string tensor, int64_t rows, int64_t width, DType dtype);
  Weight vector(std::vector<std::string> tensors, int64_t width);
  /// Says that a convolution's matrix, or the bias of the norm behind it, takes the rest of the
  /// norm in as it is loaded: what is then there answers, and cannot be trained or saved.
  void fold_norm(const Weight& weight, const std::string& norm) {
    list_[static_cast<size_t>(weight.slot)].norm = norm;
  }
  /// Declares a buffer that steps of a training plan write (Step::state). It is saved and loaded as
  /// weights are and has no gradient. A new model starts with `initial` in all of it.
  Weight state(std::string tensor, int64_t width, float initial);

  const std::vector<Parameter>& list() const { return list_; }
  const Target& target() const { return target_; }
  Isa isa() const { return target_.isa; }
  bool on_gpu() const { return target_.device == DeviceKind::cuda; }
  /// Gives the bytes of the arena that allocate() takes.
  size_t bytes() const;
  /// Gives, by slot, where it will start in the arena. On a GPU vectors lie behind the rest:
  /// gradients of matrices and tables can then be lent in one piece (Runner::lend()).
  std::vector<size_t> layout() const;
  /// Gives the bytes of one slot, laid out as its kind says.
  size_t bytes_of(const Parameter& parameter) const;
  /// Allocates the arena. A second call does nothing, so that pointers stay valid.
  void allocate();
  /// Gives where a slot's contents go, laid out as its kind says; valid after allocate().
  void* data(const Weight& weight) {
    std::atomic_ref(stale_).store(true, std::memory_order_relaxed);  // loaders are many
    return const_cast<void*>(pointers_[static_cast<size_t>(weight.slot)]);
  }
  std::span<const void* const> pointers() const { return pointers_; }
  /// Gives where a slot's newest contents lie: in the device's memory while training changes them
  /// there.
  const void* newest(const Weight& weight) const;

  /// Gives the arena as fp32, where all slots are fp32: an optimiser updates it. Slots lie apart by
  /// a little padding.
  float* arena() {
    stale_ = true;
    return arena_.as<float>();
  }
  const void* arena_data() const { return arena_.data(); }
  void* arena_data() { return arena_.data(); }
  /// Gives, in fp32 elements, where a slot starts in the arena, and how many it has, packed.
  int64_t offset(const Weight& weight) const;
  int64_t elements(const Weight& weight) const;

  /// Gives what a plan of the set's device reads; see DeviceWeights.
  WeightArrays arrays_for(DType dtype, const std::vector<bool>& slots, bool training) {
    return device().arrays_for(dtype, slots, training);
  }
  /// Brings what was loaded or updated to where the device reads it, before a plan runs; only
  /// `changed` slots where the caller knows which they are.
  void refresh(ThreadPool& pool, const std::vector<bool>* changed = nullptr) {
    device().refresh(pool, changed);
  }
  /// Takes what training has changed on the device, before the arena is read.
  void refresh_host() {
    if (device_) device_->refresh_host();
  }
  /// Gives memory on the device back; plans that read it must be gone.
  void leave_device() {
    refresh_host();
    if (device_) device_->release();
  }
  /// Gives the device's part of the set.
  DeviceWeights& device() {
    if (!device_) device_ = DeviceWeights::make(*this);
    return *device_;
  }
  /// Says whether the arena has changed since the device's part was brought up to it.
  bool stale() const { return stale_; }
  void set_stale(bool stale) { stale_ = stale; }
  /// Gives the bytes that shadows of these slots take on the processor, and those of one.
  size_t shadow_bytes(DType dtype, const std::vector<bool>& slots) const;
  size_t shadow_bytes_of(const Parameter& parameter, DType dtype) const;

 private:
  Weight add(ParameterKind kind, std::vector<std::string> tensors, int64_t rows, int64_t width,
             DType dtype);

  Target target_;
  std::vector<Parameter> list_;
  std::vector<const void*> pointers_;
  Buffer arena_;
  bool stale_ = true;
  std::unique_ptr<DeviceWeights> device_;
};

}  // namespace hone::nn
