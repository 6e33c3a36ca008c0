#include "kernels/cuda/convolution.cuh"

namespace hone::kernels::cuda {
namespace {

struct Maps {
  CUtensorMap images, weight, out;
};

struct Sizes {
  GeluSizes product;  ///< rows are those of the result, columns its channels
  int out_height, out_width, kernel, stride, padding;
  int in;  ///< channels of the images that are read
  bool relu;
};

/// Does the copying thread's part. Backwards, the images are dy, taps of the weight go the other
/// way round, and its rows lie along the depth.
template <bool kBackward>
__device__ __forceinline__ void copy_patches(const Maps& maps, const Sizes& s, uint32_t memory) {
  using Memory = GeluMemory;
  RingPlace<Memory::kStages> place(0);
  const int taps = s.kernel * s.kernel;
  for (TileWalk tile(s.product); tile.at < tile.total; tile.at += tile.step) {
    const int row = tile.row(), column = tile.column();
    const FirstPatch first(row, s.out_height, s.out_width, s.stride, s.padding);
    for (int tap = 0; tap < taps; ++tap) {
      const int tap_y = tap / s.kernel, tap_x = tap - tap_y * s.kernel;
      for (int channel = 0; channel < s.in; channel += kTileDepth, place.next()) {
        const uint32_t full = memory + Memory::kFull + place.stage * 8;
        const uint32_t a = memory + place.stage * Memory::kStage, b = a + Memory::kA;
        barrier_wait(memory + Memory::kEmpty + place.stage * 8, place.parity ^ 1);
        barrier_expect(full, Memory::kStage);
        load_patches(a, maps.images, channel, first.x, first.y, first.image, tap_x, tap_y, full);
        if constexpr (kBackward) {
          const int at = (taps - 1 - tap) * s.product.columns + column;
          load_box(b, maps.weight, at, channel, full);
          load_box(b + kTileDepth * 128, maps.weight, at + 64, channel, full);
        } else {
          load_box(b, maps.weight, tap * s.in + channel, column, full);
        }
      }
    }
  }
}

/// The groups of four warps take turns as in linear_gelu_kernel().
template <typename T, bool kBackward>
__global__ void __launch_bounds__(kGeluThreads, 1)
    convolution_kernel(const __grid_constant__ Maps maps, const Sizes sizes) {
  constexpr int kTurn = 1;  // named barriers: whose turn it is to multiply
  using Memory = GeluMemory;
  extern __shared__ uint8_t dynamic[];
  const uint32_t memory = (shared_address(dynamic) + 1023) & ~1023u;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Memory::kStages; ++i) {
      barrier_init(memory + Memory::kFull + i * 8, 1);
      barrier_init(memory + Memory::kEmpty + i * 8, 4);  // a group's warps
    }
    barrier_init_done();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) copy_patches<kBackward>(maps, sizes, memory);
  } else {
    take_registers<232>();
    const int group = threadIdx.x < 256 ? 0 : 1;
    const int warp = static_cast<int>(threadIdx.x / 32) - 4;
    const uint32_t chunks = memory + Memory::kResults + warp * kChunks * kChunkBytes;
    const int depth = sizes.product.depth, stages = depth / kTileDepth;
    if (group == 1) named_arrive(kTurn, 256);
    int count = 0, turn = 0;
    for (TileWalk tile(sizes.product); tile.at < tile.total;
         tile.at += tile.step, count += stages, turn ^= 1) {
      if (turn != group) continue;
      TileSums sums;
      begin_tile(sums, sizes.product, tile.column());
      named_sync(kTurn + group, 256);
      multiply_tile<T, kBackward>(sums, depth, memory, count, [&] {
        if (tile.at + tile.step < tile.total) named_arrive(kTurn + (group ^ 1), 256);
      });
      if (sizes.relu) {
#pragma unroll
        for (int i = 0; i < kTileColumns; ++i) {
          float& value = sums[i / 64][i % 64];
          value = value < 0.0f ? 0.0f : value;
        }
      }
      const int row = tile.row() + warp % 4 * 16;
      store_tile<T>(sums, chunks, maps.out, row, tile.column());
    }
    wait_stored<0>();
  }
}

template <typename T, bool kBackward>
Status launch(const Maps& maps, const Sizes& sizes, Stream stream) {
  constexpr int kBytes = GeluMemory::kBytes;
  const auto kernel = convolution_kernel<T, kBackward>;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int64_t tiles =
      ceil_div(sizes.product.rows, kTileRows) * ceil_div(sizes.product.columns, kTileColumns);
  const auto blocks = static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors);
  kernel<<<blocks, kGeluThreads, kBytes, stream_of(stream)>>>(maps, sizes);
  return launched();
}

/// Reads `from`, images of `window`, and writes `to`, whose pixels have `columns` channels.
template <bool kBackward>
Status run(const Convolution& args, const Window& window, int64_t columns, const void* from,
           void* to, Stream stream) {
  const int64_t rows = args.images * window.out_pixels();
  if (rows == 0) return nullptr;
  Maps maps;
  Status status = describe_patches(&maps.images, args.dtype, from, args.images, window, kTileRows);
  if (!status) {
    const int64_t covered = args.window.covered();
    status = describe_boxes(&maps.weight, args.dtype, args.weight, args.out, covered, covered,
                            kBackward ? kTileDepth : kTileColumns);
  }
  if (!status) status = describe_boxes(&maps.out, args.dtype, to, rows, columns, columns, 16);
  if (status) return status;
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  Sizes sizes{.product = {.rows = narrow(rows),
                          .columns = narrow(columns),
                          .depth = narrow(window.covered()),
                          .bias = kBackward ? nullptr : args.bias},
              .out_height = narrow(window.out_height()),
              .out_width = narrow(window.out_width()),
              .kernel = narrow(window.kernel),
              .stride = narrow(window.stride),
              .padding = narrow(window.padding),
              .in = narrow(window.channels),
              .relu = !kBackward && args.relu};
  return args.dtype == DType::bf16 ? launch<__nv_bfloat16, kBackward>(maps, sizes, stream)
                                   : launch<__half, kBackward>(maps, sizes, stream);
}

/// The window by which y's gradient is read: the same one turned round.
Window turned(const Convolution& args) {
  const Window& w = args.window;
  return {.height = w.out_height(),
          .width = w.out_width(),
          .channels = args.out,
          .kernel = w.kernel,
          .stride = 1,
          .padding = w.kernel - 1 - w.padding};
}

}  // namespace

bool convolution_fits(const Convolution& args) {
  return patches_fit(args, args.window, args.out) && aligned16(args.x) && aligned16(args.weight) &&
         aligned16(args.bias) && aligned16(args.y);
}

Status convolution(const Convolution& args, Stream stream) {
  if (!convolution_fits(args)) return "a convolution that its kernel does not take";
  return run<false>(args, args.window, args.out, args.x, args.y, stream);
}

bool convolution_gradient_fits(const Convolution& args) {
  return args.window.stride == 1 && patches_fit(args, turned(args), args.window.channels) &&
         aligned16(args.weight);
}

Status convolution_gradient(const Convolution& args, const void* dy, void* dx, Stream stream) {
  if (!convolution_gradient_fits(args)) return "a convolution that its kernel does not lead back";
  return run<true>(args, turned(args), args.window.channels, dy, dx, stream);
}

}  // namespace hone::kernels::cuda
