#include <algorithm>

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/cublaslt.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kCandidates = 40;
constexpr int kRuns = 5;
constexpr size_t kSweepBytes = size_t{192} << 20;  // several times the largest L2

/// Two events and the memory that sweeps the caches; freed with the object.
class Timer {
 public:
  Timer() {
    failed_ = cudaEventCreate(&start_) != cudaSuccess || cudaEventCreate(&end_) != cudaSuccess ||
              cudaMalloc(&sweep_, kSweepBytes) != cudaSuccess;
  }
  ~Timer() {
    cudaFree(sweep_);
    if (start_) cudaEventDestroy(start_);
    if (end_) cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  bool failed() const { return failed_; }

  /// Gives the median of a few runs in microseconds; below 0: run() failed.
  template <typename Run>
  float time(cudaStream_t stream, const Run& run) {
    float times[kRuns];
    for (int i = -1; i < kRuns; ++i) {
      cudaMemsetAsync(sweep_, i, kSweepBytes, stream);
      cudaEventRecord(start_, stream);
      if (run()) return -1.0f;
      cudaEventRecord(end_, stream);
      if (cudaEventSynchronize(end_) != cudaSuccess) return -1.0f;
      if (i >= 0) cudaEventElapsedTime(&times[i], start_, end_);
    }
    std::nth_element(times, times + kRuns / 2, times + kRuns);
    return times[kRuns / 2] * 1e3f;
  }

 private:
  cudaEvent_t start_ = nullptr, end_ = nullptr;
  void* sweep_ = nullptr;
  bool failed_ = false;
};

}  // namespace

Status product_tune(const ProductShape& shape, const ProductArrays& arrays, void* workspace,
                    size_t workspace_limit, Stream stream) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || is_plain_product(shape)) return nullptr;
  Status status = nullptr;
  PreparedProduct* p = prepared_product(shape, &status);
  if (!p) return status;
  cublasLtMatmulHeuristicResult_t results[kCandidates];
  const int found = product_candidates(*p, workspace_limit, kCandidates, results, &status);
  if (status) return status;
  if (found == 0) return "cuBLASLt has no algorithm for a product";
  Timer timer;
  if (timer.failed()) return "no memory to time products in";
  float best = 0;
  p->chosen = false;
  for (int i = 0; i < found; ++i) {
    const float time = timer.time(stream_of(stream), [&] {
      return run_product(*p, results[i].algo, arrays, workspace, workspace_limit, stream);
    });
    if (time <= 0 || (p->chosen && time >= best)) continue;
    best = time;
    p->algorithm = results[i].algo;
    p->workspace_bytes = results[i].workspaceSize;
    p->microseconds = time;
    p->chosen = true;
  }
  return p->chosen ? nullptr : "none of cuBLASLt's algorithms ran";
}

}  // namespace hone::kernels::cuda
