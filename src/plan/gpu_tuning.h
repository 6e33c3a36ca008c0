#pragma once

#include <string>

namespace hone {

/// A tuning file in use: its algorithms are given to the products to come. Where there is none, or
/// it is another device's, the fastest are looked for before a bucket's first run, and the file is
/// written at the end. Runs with one file are bit-equal. After select_device(); an empty path does
/// nothing.
class GpuTuning {
 public:
  explicit GpuTuning(std::string path);
  ~GpuTuning();
  GpuTuning(const GpuTuning&) = delete;
  GpuTuning& operator=(const GpuTuning&) = delete;

 private:
  std::string path_;
  bool searches_ = false;
};

}  // namespace hone
