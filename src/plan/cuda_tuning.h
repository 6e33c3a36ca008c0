#pragma once

#include <string>

namespace hone {

/// Puts a tuning file to use: its algorithms are given to the products to come. Where there is
/// none, or it is another device's, the fastest are looked for before a bucket's first run, and the
/// file is written at the end. Runs with one file are bit-equal. It is made after select_device();
/// an empty path does nothing.
class CudaTuning {
 public:
  explicit CudaTuning(std::string path);
  ~CudaTuning();
  CudaTuning(const CudaTuning&) = delete;
  CudaTuning& operator=(const CudaTuning&) = delete;

 private:
  std::string path_;
  bool searches_ = false;
};

}  // namespace hone
