#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/communicator.h"

namespace hone::comm {

/// Says what there is for NCCL.
struct NcclInfo {
  std::string library;  ///< the file that was opened; empty: none
  std::string missing;  ///< why there is none, in words; empty: there is
  int version = 0;      ///< 10000 * major + 100 * minor + patch
};

/// Looks at the first call, which opens the library: HONE_NCCL, or libnccl.so.2 beside the program
/// or where the system looks for libraries.
const NcclInfo& nccl_info();

/// Sums of gradients in the memory of GPUs, one of which each rank has. Every sum is put on a
/// stream and runs there in its turn; the host does not wait.
class NcclSums {
 public:
  /// A collective of all ranks, each of which has selected its device. The ranks must outlive this.
  /// Where NCCL cannot be had, that is an error of kind unsupported that says why.
  explicit NcclSums(Communicator& ranks);
  ~NcclSums();
  NcclSums(const NcclSums&) = delete;
  NcclSums& operator=(const NcclSums&) = delete;

  /// data[i] = sum over all ranks of data[i], on the device, behind what the stream (a CUDA
  /// stream's handle) has to do. All ranks start the same sums in the same order.
  void start(float* data, int64_t count, void* stream);
  /// Throws where a sum has failed.
  void check() const;

 private:
  void* handle_ = nullptr;
};

}  // namespace hone::comm
