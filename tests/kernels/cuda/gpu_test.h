#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cuda/api.h"
#include "tensor/dtype.h"

/// Tests of the CUDA kernels: values live on the host as floats that a dtype can hold, so that a
/// reference in double reads what the kernel reads.
namespace hone::kernels::cuda {

constexpr DType kDTypes[] = {DType::f32, DType::bf16, DType::f16};

inline float rounded(float value, DType dtype) {
  if (dtype == DType::bf16) return to_float(to_bf16(value));
  return dtype == DType::f16 ? half_to_float(float_to_half(value)) : value;
}

inline std::vector<float> random_floats(int64_t count, uint32_t seed, DType dtype,
                                        float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = rounded(normal(engine), dtype);
  return values;
}

inline std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Sizes of flat arrays: around a chunk of a thread, a block of them, and more than all blocks of a
/// launch take at once.
constexpr int64_t kFlatCounts[] = {0, 1, 7, 8, 9, 2047, 2048, 2049, 132 * 16 * 2048 + 3};
/// Elements by which arrays begin behind their alignment.
constexpr int64_t kShifts[] = {0, 1};

/// `values` behind `shift` elements that no kernel may change.
inline std::vector<float> shifted(const std::vector<float>& values, int64_t shift) {
  std::vector<float> out(static_cast<size_t>(shift), 5.0f);
  out.insert(out.end(), values.begin(), values.end());
  return out;
}

/// Skips, and says why, where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
    stream_ = std::make_unique<CudaStream>();
  }
  CudaStream& stream() { return *stream_; }
  Stream handle() const { return stream_->handle(); }
  static const KernelApi& api() { return kernel_api(); }
  static void check(Status status) { ASSERT_EQ(status, nullptr) << status; }

 private:
  std::unique_ptr<CudaStream> stream_;
};

/// An array on the device and in one dtype; what a kernel is to write is filled with NaN first.
class DeviceArray {
 public:
  DeviceArray(CudaStream& stream, DType dtype, int64_t count)
      : stream_(&stream), dtype_(dtype), count_(count), buffer_(size_t(count) * dtype_size(dtype)) {
    stream.fill(buffer_.data(), 0xff, buffer_.size());
  }
  DeviceArray(CudaStream& stream, DType dtype, const std::vector<float>& values)
      : DeviceArray(stream, dtype, int64_t(values.size())) {
    set(values);
  }
  void set(const std::vector<float>& values) {
    std::vector<char> bytes(buffer_.size());
    for (size_t i = 0; i < values.size(); ++i) store(values[i], i, bytes.data());
    stream_->copy(buffer_.data(), bytes.data(), bytes.size());
    stream_->synchronize();
  }
  std::vector<float> get() const {
    const std::vector<char> raw = bytes();
    std::vector<float> values(static_cast<size_t>(count_));
    for (size_t i = 0; i < values.size(); ++i) values[i] = load(i, raw.data());
    return values;
  }
  std::vector<char> bytes() const {
    std::vector<char> raw(buffer_.size());
    stream_->copy(raw.data(), buffer_.data(), raw.size());
    stream_->synchronize();
    return raw;
  }
  void* data() const { return buffer_.data(); }
  float* floats() const { return buffer_.as<float>(); }
  char* at(int64_t element) const {
    return buffer_.as<char>() + element * int64_t(dtype_size(dtype_));
  }

 private:
  void store(float value, size_t i, char* to) const {
    const uint16_t bits = dtype_ == DType::bf16 ? to_bf16(value).bits : float_to_half(value);
    if (dtype_ == DType::f32) {
      std::memcpy(to + 4 * i, &value, 4);
    } else {
      std::memcpy(to + 2 * i, &bits, 2);
    }
  }
  float load(size_t i, const char* from) const {
    float value = 0;
    uint16_t bits = 0;
    if (dtype_ == DType::f32) {
      std::memcpy(&value, from + 4 * i, 4);
      return value;
    }
    std::memcpy(&bits, from + 2 * i, 2);
    return dtype_ == DType::bf16 ? to_float(bf16{bits}) : half_to_float(bits);
  }

  CudaStream* stream_;
  DType dtype_;
  int64_t count_;
  CudaBuffer buffer_;
};

/// Anything else on the device.
template <typename T>
class DeviceVector {
 public:
  DeviceVector(CudaStream& stream, const std::vector<T>& values)
      : stream_(&stream), count_(values.size()), buffer_(values.size() * sizeof(T)) {
    set(values);
  }
  void set(const std::vector<T>& values) {
    stream_->copy(buffer_.data(), values.data(), values.size() * sizeof(T));
    stream_->synchronize();
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    stream_->copy(values.data(), buffer_.data(), buffer_.size());
    stream_->synchronize();
    return values;
  }
  T* data() const { return buffer_.template as<T>(); }

 private:
  CudaStream* stream_;
  size_t count_;
  CudaBuffer buffer_;
};

/// `actual` is within `error` of the largest expected value, and the rounding of its dtype.
inline void expect_near(const std::vector<float>& actual, const std::vector<double>& expected,
                        DType dtype, double error) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  const double unit = dtype == DType::bf16 ? 1.0 / 256 : dtype == DType::f16 ? 1.0 / 2048 : 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double bound = error * largest + unit * std::abs(expected[i]) + 1e-30;
    ASSERT_NEAR(double(actual[i]), expected[i], bound) << "at " << i;
  }
}

/// Dropout whose rows are scattered over samples and places, some of them large; on both sides.
struct DropoutRows {
  static constexpr uint64_t kSeed = 7, kStep = 12, kSite = 3;

  DropoutRows(CudaStream& stream, float p, int64_t rows)
      : samples(size_t(rows)),
        positions(size_t(rows)),
        random(stream, {{kSeed, kStep}}),
        device_samples(stream, fill_samples()),
        device_positions(stream, positions) {
    cpu = {p, dropout_key(kSeed, kStep, kSite), samples.data(), positions.data()};
    gpu = {p, kSite, random.data(), device_samples.data(), device_positions.data()};
  }
  const std::vector<int64_t>& fill_samples() {
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] = int64_t(i * 7919 % 31) + (i % 3 == 0 ? int64_t{1} << 33 : 0);
      positions[i] = static_cast<int32_t>(i * 13 % 509);
    }
    return samples;
  }

  std::vector<int64_t> samples;
  std::vector<int32_t> positions;
  DeviceVector<RandomState> random;
  DeviceVector<int64_t> device_samples;
  DeviceVector<int32_t> device_positions;
  kernels::Dropout cpu;
  Dropout gpu;
};

}  // namespace hone::kernels::cuda
