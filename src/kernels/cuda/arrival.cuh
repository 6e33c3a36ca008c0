#pragma once

#include "kernels/cuda/tensor_core.cuh"

/// Copies that a block, or a cluster of blocks, waits for by counting their bytes (compute
/// capability 9.0).
namespace hone::kernels::cuda {

/// A barrier in shared memory whose only phase ends when all bytes are there.
struct Arrival {
  uint64_t barrier;

  /// Opens the barrier; one thread calls it, before any other of the cluster uses the barrier.
  __device__ __forceinline__ void open(int bytes) {
#if __CUDA_ARCH__ >= 900
    const uint32_t at = shared_address(&barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                 : "memory");
#endif
  }
  __device__ __forceinline__ void wait() {
#if __CUDA_ARCH__ >= 900
    uint32_t done = 0;
    while (!done) {
      asm volatile(
          "{\n.reg .pred p;\n"
          "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n"
          "selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(shared_address(&barrier))
          : "memory");
    }
#endif
  }
  /// Copies a row of memory, whole pieces of 16 bytes.
  __device__ __forceinline__ void copy(void* to, const void* from, int bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(&barrier))
        : "memory");
#endif
  }
  /// Copies a row of memory to one place in each of the cluster's `blocks` blocks.
  __device__ __forceinline__ void copy_to_all(void* to, const void* from, int bytes, int blocks) {
#if __CUDA_ARCH__ >= 900
    const auto mask = static_cast<uint16_t>((1 << blocks) - 1);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(&barrier)), "h"(mask)
        : "memory");
#endif
  }
  /// Sends a value to the place `to` in block `rank` of the cluster.
  __device__ __forceinline__ void send(const float4* to, int rank, const float4& value) {
#if __CUDA_ARCH__ >= 900
    uint32_t there, counter;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(to)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(counter)
        : "r"(shared_address(&barrier)), "r"(rank));
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(there),
        "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(counter)
        : "memory");
#endif
  }
};

/// Waits until all threads of the cluster have come as far.
__device__ __forceinline__ void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

}  // namespace hone::kernels::cuda
