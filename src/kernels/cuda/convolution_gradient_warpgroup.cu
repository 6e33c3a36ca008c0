// The gradient of a convolution's weight: a product whose depth is the pixels, cut into splits that
// blocks take side by side. Each leaves its part in memory.
#include "kernels/cuda/convolution.cuh"

namespace hone::kernels::cuda {
namespace {

struct Maps {
  CUtensorMap images, dy;
};

struct Sizes {
  int out, covered, channels;
  int out_height, out_width, kernel, stride, padding;
  int steps;        ///< tiles of 64 pixels in all
  int split_steps;  ///< tiles of a split; the last one may have fewer
  int splits;
  float* partials;  ///< [splits][out][covered]
};

/// A block's tiles: all of a split follow each other, so that they meet its pixels in the cache.
struct SplitWalk {
  int across, tiles, total, at;
  const Sizes& sizes;

  __device__ __forceinline__ explicit SplitWalk(const Sizes& s)
      : across((s.covered + kTileColumns - 1) / kTileColumns),
        tiles((s.out + kTileRows - 1) / kTileRows * across),
        total(tiles * s.splits),
        at(static_cast<int>(blockIdx.x)),
        sizes(s) {}
  __device__ __forceinline__ bool is_there() const { return at < total; }
  __device__ __forceinline__ bool is_last() const {
    return at + static_cast<int>(gridDim.x) >= total;
  }
  __device__ __forceinline__ void next() { at += static_cast<int>(gridDim.x); }
  __device__ __forceinline__ int split() const { return at / tiles; }
  __device__ __forceinline__ int row() const { return at % tiles / across * kTileRows; }
  __device__ __forceinline__ int column() const { return at % tiles % across * kTileColumns; }
  __device__ __forceinline__ int first_step() const { return split() * sizes.split_steps; }
  __device__ __forceinline__ int steps() const {
    const int left = sizes.steps - first_step();
    return left < sizes.split_steps ? left : sizes.split_steps;
  }
};

/// Does the copying thread's part.
__device__ __forceinline__ void copy_pixels(const Maps& maps, const Sizes& s, uint32_t memory) {
  using Memory = GeluMemory;
  RingPlace<Memory::kStages> place(0);
  for (SplitWalk tile(s); tile.is_there(); tile.next()) {
    const int row = tile.row(), column = tile.column(), first = tile.first_step();
    int tap_x[2], tap_y[2], channel[2];
    for (int half = 0; half < 2; ++half) {
      int at = column + 64 * half;
      if (at >= s.covered) at = column;  // these columns are not written
      const int tap = at / s.channels;
      channel[half] = at - tap * s.channels;
      tap_y[half] = tap / s.kernel;
      tap_x[half] = tap - tap_y[half] * s.kernel;
    }
    const int steps = tile.steps();
    for (int step = first; step < first + steps; ++step, place.next()) {
      const uint32_t full = memory + Memory::kFull + place.stage * 8;
      const uint32_t a = memory + place.stage * Memory::kStage, b = a + Memory::kA;
      const int pixel = step * kTileDepth;
      const FirstPatch patch(pixel, s.out_height, s.out_width, s.stride, s.padding);
      barrier_wait(memory + Memory::kEmpty + place.stage * 8, place.parity ^ 1);
      barrier_expect(full, Memory::kStage);
      for (int half = 0; half < 2; ++half) {
        load_box(a + half * kTileDepth * 128, maps.dy, row + 64 * half, pixel, full);
        load_patches(b + half * kTileDepth * 128, maps.images, channel[half], patch.x, patch.y,
                     patch.image, tap_x[half], tap_y[half], full);
      }
    }
  }
}

__device__ __forceinline__ void store_part(const TileSums& sums, const Sizes& s, int split, int row,
                                           int column) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      const int out = row + 64 * half + 8 * eight + lane / 4;
      if (out >= s.out) continue;
      float* to = s.partials + (int64_t{split} * s.out + out) * s.covered;
#pragma unroll
      for (int j = 0; j < kTileColumns / 8; ++j) {
        const int at = column + 8 * j + lane % 4 * 2;
        if (at >= s.covered) continue;
        *reinterpret_cast<float2*>(to + at) =
            make_float2(sums[half][4 * j + 2 * eight], sums[half][4 * j + 2 * eight + 1]);
      }
    }
  }
}

/// The groups of four warps take turns as in linear_gelu_kernel().
template <typename T>
__global__ void __launch_bounds__(kGeluThreads, 1)
    weight_gradient_kernel(const __grid_constant__ Maps maps, const Sizes sizes) {
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
    if (threadIdx.x == 0) copy_pixels(maps, sizes, memory);
  } else {
    take_registers<232>();
    const int group = threadIdx.x < 256 ? 0 : 1;
    const int warp = static_cast<int>(threadIdx.x / 32) - 4;
    if (group == 1) named_arrive(kTurn, 256);
    int count = 0, turn = 0;
    for (SplitWalk tile(sizes); tile.is_there(); count += tile.steps(), tile.next(), turn ^= 1) {
      if (turn != group) continue;
      TileSums sums;
      begin_tile(sums, GeluSizes{}, 0);
      named_sync(kTurn + group, 256);
      multiply_tile<T, true, true>(sums, tile.steps() * kTileDepth, memory, count, [&] {
        if (!tile.is_last()) named_arrive(kTurn + (group ^ 1), 256);
      });
      store_part(sums, sizes, tile.split(), tile.row() + warp % 4 * 16, tile.column());
    }
  }
}

/// Adds up the splits of each element, in their order.
__global__ void add_splits_kernel(const float* partials, int splits, int64_t count, bool add,
                                  float* dw) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= count) return;
  float sum = add ? dw[at] : 0.0f;
#pragma unroll 4
  for (int split = 0; split < splits; ++split) sum += partials[split * count + at];
  dw[at] = sum;
}

/// How the pixels are cut: enough blocks for an H100, and at least eight tiles of pixels a block.
/// The cut follows from the sizes alone, so that sums have one order.
Sizes sizes_of(const Convolution& args) {
  constexpr int64_t kBlocks = 264, kLeast = 8;
  const Window& w = args.window;
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  const int64_t tiles = ceil_div(args.out, kTileRows) * ceil_div(w.covered(), kTileColumns);
  const int64_t steps = ceil_div(args.images * w.out_pixels(), kTileDepth);
  const int64_t wanted = ceil_div(kBlocks, tiles), most = ceil_div(steps, kLeast);
  const int64_t split_steps = ceil_div(steps, wanted < most ? wanted : most);
  return {.out = narrow(args.out),
          .covered = narrow(w.covered()),
          .channels = narrow(w.channels),
          .out_height = narrow(w.out_height()),
          .out_width = narrow(w.out_width()),
          .kernel = narrow(w.kernel),
          .stride = narrow(w.stride),
          .padding = narrow(w.padding),
          .steps = narrow(steps),
          .split_steps = narrow(split_steps),
          .splits = narrow(ceil_div(steps, split_steps)),
          .partials = nullptr};
}

template <typename T>
Status launch(const Maps& maps, const Sizes& sizes, Stream stream) {
  constexpr int kBytes = GeluMemory::kBytes;
  const auto kernel = weight_gradient_kernel<T>;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int64_t tiles =
      ceil_div(sizes.out, kTileRows) * ceil_div(sizes.covered, kTileColumns) * sizes.splits;
  const auto blocks = static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors);
  kernel<<<blocks, kGeluThreads, kBytes, stream_of(stream)>>>(maps, sizes);
  return launched();
}

}  // namespace

bool convolution_weight_gradient_fits(const Convolution& args) {
  return args.images > 0 && patches_fit(args, args.window, args.out) && aligned16(args.x);
}

size_t convolution_weight_gradient_workspace(const Convolution& args) {
  if (args.images == 0) return 0;
  return static_cast<size_t>(sizes_of(args).splits * args.out * args.window.covered()) *
         sizeof(float);
}

Status convolution_weight_gradient(const Convolution& args, const void* dy, bool add, float* dw,
                                   void* workspace, Stream stream) {
  if (!convolution_weight_gradient_fits(args)) return "a weight's gradient that has no kernel";
  Maps maps;
  const Window& w = args.window;
  Status status = describe_patches(&maps.images, args.dtype, args.x, args.images, w, kTileDepth);
  if (!status) {
    status = describe_boxes(&maps.dy, args.dtype, dy, args.images * w.out_pixels(), args.out,
                            args.out, kTileDepth);
  }
  if (status) return status;
  Sizes sizes = sizes_of(args);
  sizes.partials = static_cast<float*>(workspace);
  status = args.dtype == DType::bf16 ? launch<__nv_bfloat16>(maps, sizes, stream)
                                     : launch<__half>(maps, sizes, stream);
  if (status) return status;
  const int64_t count = args.out * w.covered();
  constexpr int kThreads = 256;
  add_splits_kernel<<<static_cast<unsigned>(ceil_div(count, kThreads)), kThreads, 0,
                      stream_of(stream)>>>(sizes.partials, sizes.splits, count, add, dw);
  return launched();
}

}  // namespace hone::kernels::cuda
