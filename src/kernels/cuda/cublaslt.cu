#include "kernels/cuda/cublaslt.cuh"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <string>

namespace hone::kernels::cuda {
namespace {

#define HONE_TEXT_OF(x) #x
#define HONE_TEXT(x) HONE_TEXT_OF(x)
constexpr const char* kLibrary = "libcublasLt.so." HONE_TEXT(CUBLAS_VER_MAJOR);

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

void* open_library(std::string& path) {
  const char* given = std::getenv("HONE_CUBLASLT");
  const std::string places[] = {given ? given : "", kLibrary,
                                std::string("/usr/local/cuda/lib64/") + kLibrary};
  for (const std::string& place : places) {
    if (place.empty()) continue;
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      path = place;
      return library;
    }
    if (place == places[0]) break;  // what the user names is taken or missed, not replaced
  }
  return nullptr;
}

CublasLt open_cublaslt() {
  CublasLt lt;
  static std::string path;
  void* library = open_library(path);
  if (!library) {
    lt.missing = "cuBLASLt is not installed (HONE_CUBLASLT may name the library's file)";
    return lt;
  }
  lt.path = path.c_str();
  const bool all = find(library, "cublasLtCreate", lt.create) &&
                   find(library, "cublasLtGetVersion", lt.version) &&
                   find(library, "cublasLtMatmul", lt.matmul) &&
                   find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic) &&
                   find(library, "cublasLtMatmulAlgoCheck", lt.check) &&
                   find(library, "cublasLtMatmulDescCreate", lt.desc_create) &&
                   find(library, "cublasLtMatmulDescSetAttribute", lt.desc_set) &&
                   find(library, "cublasLtMatrixLayoutCreate", lt.layout_create) &&
                   find(library, "cublasLtMatmulPreferenceCreate", lt.preference_create) &&
                   find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set) &&
                   find(library, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy);
  if (!all) lt.missing = "the cuBLASLt library lacks functions that hone calls";
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt lt = open_cublaslt();
  return lt;
}

cublasLtHandle_t cublaslt_handle() {
  static std::mutex mutex;
  static std::array<cublasLtHandle_t, 64> handles = {};
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= 64) return nullptr;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[static_cast<size_t>(device)];
  if (!handle && cublaslt().create(&handle) != CUBLAS_STATUS_SUCCESS) handle = nullptr;
  return handle;
}

Status cublas_status(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return nullptr;
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "cuBLASLt: not initialised";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "cuBLASLt: out of memory";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "cuBLASLt: invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "cuBLASLt: the device is too old";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "cuBLASLt: not supported";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "cuBLASLt: the kernel failed";
    default:
      return "cuBLASLt: internal error";
  }
}

}  // namespace hone::kernels::cuda
