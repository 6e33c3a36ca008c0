#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "plan/gpu_frame.h"
#include "plan/plan.h"

namespace hone {

/// Says where a plan's weights lie, by slot, on the plan's device. A slot that a plan reads in
/// another dtype than it is kept in has a shadow, else null; `shadows` may be empty. Shadows in fp8
/// have scales beside them.
struct WeightArrays {
  WeightArrays() = default;
  WeightArrays(std::span<const void* const> own, std::span<const void* const> others = {},
               std::span<const float* const> of_rows = {})
      : stored(own), shadows(others), scales(of_rows) {}
  WeightArrays(const std::vector<const void*>& own) : stored(own) {}
  std::span<const void* const> stored;
  std::span<const void* const> shadows;
  std::span<const float* const> scales;
};

/// Says where a plan's weight gradients lie, by slot; null where a weight is frozen.
struct GradientArrays {
  std::span<void* const> arrays = {};
  /// Tables have a byte a row here, which a step sets where it gives that row a gradient; other
  /// slots have null. It may be empty.
  std::span<uint8_t* const> touched = {};
};

/// Gives a step its arrays while it runs.
class Frame {
 public:
  template <typename T>
  T* data(Value value) const {
    if (audited_) audit(value);
    return static_cast<T*>(arrays_[static_cast<size_t>(value.id)]);
  }
  int64_t rows(Value value) const { return extents_[value.rows]; }
  const void* weight(const Weight& weight) const {
    if (!weight.present()) return nullptr;
    if (audited_) audit_weight(weight);
    const auto slot = static_cast<size_t>(weight.slot);
    const bool shadow =
        weight.dtype != DType::f32 && !weights_.shadows.empty() && weights_.shadows[slot];
    const void* start = (shadow ? weights_.shadows : weights_.stored)[slot];
    if (weight.offset == 0) return start;
    return static_cast<const std::byte*>(start) +
           static_cast<size_t>(weight.offset) * dtype_size(weight.dtype);
  }
  template <typename T>
  const T* weight(const Weight& slot) const {
    return static_cast<const T*>(weight(slot));
  }
  /// Gives the scales of a weight in fp8, one a row.
  const float* scales(const Weight& weight) const {
    return weights_.scales[static_cast<size_t>(weight.slot)] + weight.offset / weight.width;
  }
  /// Gives a buffer of the model that the step reads and writes.
  float* state(const Weight& weight) const {
    if (audited_) audit_state(weight);
    return static_cast<float*>(
        const_cast<void*>(weights_.stored[static_cast<size_t>(weight.slot)]));
  }
  /// Gives where a weight's gradient is added up; null where it is frozen, or nothing is trained.
  void* gradient(const Weight& weight) const {
    if (!weight.present() || gradients_.arrays.empty()) return nullptr;
    void* start = gradients_.arrays[static_cast<size_t>(weight.slot)];
    if (start && audited_) audit_gradient(weight);
    return start && weight.offset > 0 ? static_cast<float*>(start) + weight.offset : start;
  }
  /// Gives a table's byte a row; null where nobody wants to know.
  uint8_t* touched(const Weight& table) const {
    if (!table.present() || gradients_.touched.empty()) return nullptr;
    return gradients_.touched[static_cast<size_t>(table.slot)];
  }
  void* workspace() const { return workspace_; }
  ThreadPool& pool() const { return *pool_; }
  const Extents& extents() const { return extents_; }
  /// Gives the GPU's part; only a plan for a GPU has one.
  const GpuFrame& gpu() const { return gpu_; }

 private:
  friend class Executor;
  friend class CpuExecutor;
  friend class CudaExecutor;
  void audit(Value value) const;
  void audit_weight(const Weight& weight) const;
  void audit_state(const Weight& weight) const;
  void audit_gradient(const Weight& weight) const;

  std::vector<void*> arrays_;
  WeightArrays weights_;
  GradientArrays gradients_;
  void* workspace_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Extents extents_;
  GpuFrame gpu_;
  const Step* audited_ = nullptr;  ///< the running step, where what it touches is checked
};

}  // namespace hone
