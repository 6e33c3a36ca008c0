#include "kernels/cuda/pixels.h"

#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void pixels_kernel(const uint8_t* bytes, const float* levels, int64_t count,
                              int channels, int64_t image_elements, T* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    const int64_t image = at / image_elements;
    int64_t left = (image + 1) * image_elements - at;  // elements of the same image
    const float* own = levels + image * 2 * channels;
    int channel = static_cast<int>(at % channels);
    Chunk chunk = {};
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      if (j >= there) break;
      if (left-- == 0) {
        own += 2 * channels;
        left = image_elements - 1;
      }
      const auto value = static_cast<float>(bytes[at + j]);
      chunk.value[j] = fmaf(value, own[channel], own[channels + channel]);
      if (++channel == channels) channel = 0;
    }
    store_part<kAligned>(y + at, there, chunk);
  });
}

}  // namespace

Status pixels(DType dtype, const uint8_t* bytes, const float* levels, int64_t rows,
              int64_t channels, int64_t image_pixels, void* y, Stream stream) {
  const int64_t count = rows * channels;
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel = aligned16(y) ? pixels_kernel<true, T> : pixels_kernel<false, T>;
    kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
        bytes, levels, count, static_cast<int>(channels), image_pixels * channels,
        static_cast<T*>(y));
    return launched();
  });
}

}  // namespace hone::kernels::cuda
