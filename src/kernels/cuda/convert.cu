#include "kernels/cuda/convert.h"

#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename From, typename To>
__global__ void convert_kernel(const From* x, int64_t count, To* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    store_part<kAligned>(y + at, there, load_part<kAligned>(x + at, there));
  });
}

}  // namespace

Status convert(DType from, const void* x, DType to, void* y, int64_t count, Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(from, [&](auto* from_type) {
    using From = std::remove_pointer_t<decltype(from_type)>;
    return by_dtype(to, [&](auto* to_type) {
      using To = std::remove_pointer_t<decltype(to_type)>;
      const auto kernel = aligned16(x) && aligned16(y) ? convert_kernel<true, From, To>
                                                       : convert_kernel<false, From, To>;
      kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
          static_cast<const From*>(x), count, static_cast<To*>(y));
      return launched();
    });
  });
}

}  // namespace hone::kernels::cuda
