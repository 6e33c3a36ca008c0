#include "plan/cuda_tuning.h"

#include <exception>

#include "base/error.h"
#include "base/file.h"
#include "kernels/cuda/tuning.h"
#include "plan/cuda_executor.h"

namespace hone {

CudaTuning::CudaTuning(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  searches_ = !file_exists(path_) || !kernels::cuda::load_tuning(path_).empty();
  CudaExecutor::tune_all(searches_);
}

CudaTuning::~CudaTuning() {
  if (!searches_) return;
  CudaExecutor::tune_all(false);
  try {
    kernels::cuda::save_tuning(path_);
  } catch (const std::exception&) {  // the run's results are there; the next one searches again
  }
}

}  // namespace hone
