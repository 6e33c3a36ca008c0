#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "device/memory.h"
#include "nn/gpu_weights.h"
#include "plan/value.h"

namespace hone::nn {

enum class ParameterKind {
  matrix,  ///< [rows, width] of a matrix product, packed for the instruction set
  table,   ///< [rows, width], row-major, read by row; of int8 see kernels/cpu/embedding.h
  vector,  ///< [1, width] fp32
};

/// A slot and the checkpoint tensors whose rows fill it, one after the other.
struct Parameter {
  Weight weight;
  ParameterKind kind;
  std::vector<std::string> tensors;
  bool fp8 = false;  ///< plans for a GPU read it as fp8 with a scale a row
};

/// A model's weights: declared while the model is built, allocated once as one arena, filled by a
/// loader. Every tensor is named as its family's checkpoints name it, without prefix.
///
/// Of Isa::gpu the arena here is what is loaded and saved; plans read a copy on the device, made
/// when they are about to run. An optimiser changes that copy: see refresh_host().
class Parameters {
 public:
  explicit Parameters(Isa isa) : isa_(isa) {}

  /// The tensors are stacked along rows: all have `width` columns and equal shares of `rows`. What
  /// is fp8 on the GPU is kept in fp32 here.
  Weight matrix(std::vector<std::string> tensors, int64_t rows, int64_t width, DType dtype);
  Weight table(std::string tensor, int64_t rows, int64_t width, DType dtype);
  Weight vector(std::vector<std::string> tensors, int64_t width);

  const std::vector<Parameter>& list() const { return list_; }
  Isa isa() const { return isa_; }
  bool on_gpu() const { return isa_ == Isa::gpu; }
  /// Bytes of the arena that allocate() takes.
  size_t bytes() const;
  /// By slot, where it will start in the arena. On a GPU vectors lie behind the rest: gradients of
  /// matrices and tables can then be lent in one piece (Execution::lend()).
  std::vector<size_t> layout() const;
  /// Of one slot, laid out as its kind says.
  size_t bytes_of(const Parameter& parameter) const;
  /// Does nothing a second time: who holds pointers keeps them.
  void allocate();
  /// Where a slot's contents go, laid out as its kind says; valid after allocate().
  void* data(const Weight& weight) {
    std::atomic_ref(stale_).store(true, std::memory_order_relaxed);  // loaders are many
    return const_cast<void*>(pointers_[static_cast<size_t>(weight.slot)]);
  }
  std::span<const void* const> pointers() const { return pointers_; }

  /// The arena as fp32, where all slots are: what an optimiser updates. Slots lie apart by a little
  /// padding.
  float* arena() {
    stale_ = true;
    return arena_.as<float>();
  }
  const void* arena_data() const { return arena_.data(); }
  /// In fp32 elements: where a slot starts in the arena, and how many it has, packed.
  int64_t offset(const Weight& weight) const;
  int64_t elements(const Weight& weight) const;

  /// Mixed precision: matrices in fp32 that `slots` names get a second, packed form in `dtype`
  /// (bf16; or fp16, held in fp32), which plans of that dtype read instead: see shadow_pointers().
  void add_shadows(DType dtype, const std::vector<bool>& slots);
  /// By slot: the shadow, or what there is where it has none.
  std::span<const void* const> shadow_pointers() const { return shadow_pointers_; }
  /// Makes shadows anew after data() or arena() was asked for; of `changed` slots where one knows
  /// which they are.
  void refresh_shadows(ThreadPool& pool, const std::vector<bool>* changed = nullptr);
  /// The arrays for a plan of `dtype` that reads the shadows of these slots. Those of another dtype
  /// than before replace the ones before. `training`: what is read may change.
  WeightArrays arrays_for(DType dtype, const std::vector<bool>& slots, bool training);
  /// Before a plan runs: what was loaded since is sent to the GPU, or its shadows are made anew.
  void refresh(ThreadPool& pool);
  /// Before the arena is read: takes what an optimiser has changed on the GPU.
  void refresh_host();
  /// Gives the memory on the GPU back; plans that read it must be gone.
  void leave_gpu() {
    refresh_host();
    gpu_.reset();
  }
  /// For an optimiser on the GPU, which changes them.
  GpuWeights& changing_on_gpu() {
    host_is_old_ = true;
    return *gpu_;
  }
  /// What add_shadows() would take.
  size_t shadow_bytes(DType dtype, const std::vector<bool>& slots) const;

 private:
  size_t shadow_bytes_of(const Parameter& parameter, DType dtype) const;
  Weight add(ParameterKind kind, std::vector<std::string> tensors, int64_t rows, int64_t width,
             DType dtype);

  Isa isa_;
  std::vector<Parameter> list_;
  std::vector<const void*> pointers_;
  Buffer arena_;
  DType shadow_dtype_ = DType::f32;
  std::vector<bool> shadowed_;
  std::vector<const void*> shadow_pointers_;
  Buffer shadows_;
  bool stale_ = true;
  std::unique_ptr<GpuWeights> gpu_;
  bool host_is_old_ = false;
};

}  // namespace hone::nn
