// A linear layer over few rows: what takes time is to get the weights, so they are spread over the
// card and on their way before the kernel ahead has ended.
//
// A block has 8 kNTiles rows of w and all of k or, in a cluster of `splits` blocks, a range of it.
// Rows come as bulk copies. x is wanted by all blocks, which would keep the L2 cache as long as the
// weights keep memory: blocks of a cluster that have the same part of it read a share each for all.
// A warp multiplies its own piece of the range of k; sums are added up over warps, then over the
// blocks of the cluster, in their order.
//
// Nothing here runs twice but short loops, so that much of the time is that of fetching
// instructions: that they are few matters more than how fast each is.

#include "kernels/cuda/linear_small.h"

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/arrival.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace hone::kernels::cuda {
namespace {

/// Two neighbours of e4m3: rows of them are multiplied as rows of half as many 16-bit elements are,
/// by an instruction that takes its operands from the same places.
struct Fp8Pair {
  uint16_t bits;
};

template <typename T>
__device__ __forceinline__ void multiply_tile(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                              uint32_t b1) {
  if constexpr (std::is_same_v<T, Fp8Pair>) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    mma<T>(c, a, b0, b1);
  }
}

constexpr int kWarps = 8;
constexpr int kMaxNTiles = 4, kMaxCluster = 8;
constexpr int64_t kMaxDepth = 8192, kMaxColumns = 1 << 20, kMaxStride = 1 << 24;

/// Says how a product is cut.
struct Cut {
  int n_tiles;  ///< tiles of 8 rows of w, a block
  int splits;   ///< blocks of a cluster that have a range of k each
  int sharers;  ///< blocks of a cluster that have the same x
};

struct Arguments {
  const void *x, *w;
  const float *bias, *x_scales, *w_scales;
  void* y;
  int m, n, k, ldx, ldw, ldy;
  int splits, sharers;
  int block_k;      ///< a block's range of k: a multiple of 16 for each warp
  int inbox_bytes;  ///< bytes of shared memory for sums from the cluster's blocks
  Activation activation;
};

/// Says which activations a kernel has code for.
enum class Ending : uint8_t { none, gelu, any };

/// Gives the bytes between rows in shared memory: eight rows then lie in different banks.
__host__ __device__ constexpr int row_bytes(int block_k) { return block_k * 2 + 16; }

/// Writes zeros behind the end of k.
__device__ __noinline__ void zero_tail(char* rows, int count, int from, int block_k) {
  const int pieces = (block_k - from) / 8;
  for (int i = static_cast<int>(threadIdx.x); i < count * pieces; i += kWarps * 32) {
    char* row = rows + i / pieces * row_bytes(block_k);
    *reinterpret_cast<uint4*>(row + (from + i % pieces * 8) * 2) = uint4{};
  }
}

/// Computes c += x w^T over the warp's piece of k.
template <typename T, int kMTiles, int kNTiles>
__device__ __forceinline__ void multiply(int block_k, const char* rows, const char* weights,
                                         float (&c)[kMTiles][kNTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int pitch = row_bytes(block_k), piece = block_k / kWarps * 2;  // in bytes
  uint32_t x = shared_address(rows + lane % 16 * pitch + lane / 16 * 16 + warp * piece);
  uint32_t w = shared_address(weights + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 16 +
                              warp * piece);
  const uint32_t end = x + static_cast<uint32_t>(piece);
#pragma unroll 1
  for (; x != end; x += 32, w += 32) {
    uint32_t a[kMTiles][4], b[(kNTiles + 1) / 2][4];
#pragma unroll
    for (int i = 0; i < kMTiles; ++i)
      load_matrices(a[i], x + static_cast<uint32_t>(16 * i * pitch));
#pragma unroll
    for (int j = 0; j < kNTiles; j += 2) {  // the last of an odd number reads on behind the tiles
      load_matrices(b[j / 2], w + static_cast<uint32_t>(8 * j * pitch));
    }
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kNTiles; ++j) {
        multiply_tile<T>(c[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
}

/// Gives the sum of `count` parts, in their order.
__device__ __forceinline__ float4 sum_of(const float4* parts, int count, int stride) {
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const float4 part = parts[i * stride];
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }
  return sum;
}

template <Ending kEnding, typename T>
__device__ __forceinline__ float activated(Activation activation, float x) {
  if constexpr (kEnding == Ending::gelu) return activation_of<Activation::gelu, T>(x).value;
  if constexpr (kEnding == Ending::none) return x;
  switch (activation) {
    case Activation::gelu:
      return activation_of<Activation::gelu, T>(x).value;
    case Activation::gelu_tanh:
      return activation_of<Activation::gelu_tanh, T>(x).value;
    case Activation::relu:
      return activation_of<Activation::relu, T>(x).value;
    case Activation::silu:
      return activation_of<Activation::silu, T>(x).value;
    case Activation::tanh:
      return activation_of<Activation::tanh, T>(x).value;
    default:
      return x;
  }
}

struct Shared {
  Arrival weights, rows, sums;
  float bias[8 * kMaxNTiles];
  float scales[8 * kMaxNTiles];
};

/// Finds the block's place, sets up its barriers, and starts to fetch its weights.
template <typename T, int kMTiles, int kNTiles>
struct Block {
  static constexpr int kTiles = kMTiles * kNTiles;
  int rank, sharer, first_column, first_row, first_k, depth, m, n;

  __device__ __forceinline__ Block(const Arguments& a, Shared& shared) {
    const bool split = a.splits > 1;
    rank = split ? static_cast<int>(blockIdx.x) : 0;
    sharer = split ? 0 : static_cast<int>(blockIdx.x);
    first_column =
        static_cast<int>(split ? blockIdx.y : blockIdx.y * gridDim.x + blockIdx.x) * 8 * kNTiles;
    first_row = static_cast<int>(blockIdx.z) * 16 * kMTiles;
    first_k = rank * a.block_k;
    depth = max(min(a.k - first_k, a.block_k), 0);
    m = min(a.m - first_row, 16 * kMTiles);
    n = min(a.n - first_column, 8 * kNTiles);
    if (threadIdx.x == 0) {
      shared.weights.open(n * depth * 2);
      shared.rows.open(m * depth * 2);
      // Tile i is brought to an end by block i % splits.
      int tiles = 0;
      for (int i = rank; i < kTiles; i += a.splits) ++tiles;
      if (split) shared.sums.open(tiles * a.splits * 32 * static_cast<int>(sizeof(float4)));
    }
    __syncthreads();
  }
  __device__ __forceinline__ void fetch_weights(const Arguments& a, Shared& shared,
                                                char* to) const {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    if (warp == 0 && lane < 8 * kNTiles) {
      shared.bias[lane] = a.bias && lane < n ? a.bias[first_column + lane] : 0.0f;
      if constexpr (std::is_same_v<T, Fp8Pair>) {
        shared.scales[lane] = lane < n ? a.w_scales[first_column + lane] : 0.0f;
      }
    }
    if (lane != 0 || depth == 0) return;
    for (int row = warp; row < n; row += kWarps) {
      const T* from = static_cast<const T*>(a.w) + static_cast<int64_t>(first_column + row) * a.ldw;
      shared.weights.copy(to + row * row_bytes(a.block_k), from + first_k, depth * 2);
    }
  }
  /// Fetches this block's share of x.
  __device__ __forceinline__ void fetch_rows(const Arguments& a, Shared& shared, char* to) const {
    if (threadIdx.x % 32 != 0 || depth == 0) return;
    const int warp = static_cast<int>(threadIdx.x / 32);
    for (int row = warp * a.sharers + sharer; row < m; row += kWarps * a.sharers) {
      const T* from = static_cast<const T*>(a.x) + static_cast<int64_t>(first_row + row) * a.ldx;
      char* place = to + row * row_bytes(a.block_k);
      if (a.sharers > 1) {
        shared.rows.copy_to_all(place, from + first_k, depth * 2, a.sharers);
      } else {
        shared.rows.copy(place, from + first_k, depth * 2);
      }
    }
  }
};

template <typename T, typename Out, int kMTiles, int kNTiles, Ending kEnding>
__global__ void __launch_bounds__(kWarps * 32)
    linear_small_kernel(const __grid_constant__ Arguments a) {
  constexpr int kTiles = kMTiles * kNTiles;
  static_assert(kTiles <= kWarps && kNTiles <= kMaxNTiles);
  extern __shared__ __align__(128) char weights[];  // what the cluster sends follows, then x
  __shared__ Shared shared;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const Block<T, kMTiles, kNTiles> block(a, shared);
  const int pitch = row_bytes(a.block_k);
  char* rows = weights + 8 * kNTiles * pitch + a.inbox_bytes;
  block.fetch_weights(a, shared, weights);
  if (block.depth < a.block_k) {
    zero_tail(weights, 8 * kNTiles, block.depth, a.block_k);
    zero_tail(rows, 16 * kMTiles, block.depth, a.block_k);
  }
  if (a.splits + a.sharers > 2) meet_cluster();  // all barriers are open
  wait_for_kernel_before();
  // The next kernel may not start earlier: two kernels ahead would take this one's place, unevenly.
  let_next_kernel_start();
  block.fetch_rows(a, shared, rows);
  __syncwarp();
  float c[kMTiles][kNTiles][4] = {};
  shared.weights.wait();
  shared.rows.wait();
  if (block.depth < a.block_k) __syncthreads();  // waits for the zeros
  multiply<T>(a.block_k, rows, weights, c);

  __syncthreads();  // x has been used: its place is that of the warps' sums
  const auto parts = reinterpret_cast<float4*>(rows) + lane;
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const float* sums = c[i / kNTiles][i % kNTiles];
    parts[(warp * kTiles + i) * 32] = make_float4(sums[0], sums[1], sums[2], sums[3]);
  }
  __syncthreads();
  if (warp >= kTiles) return;
  float4 sum = sum_of(parts + warp * 32, kWarps, kTiles * 32);
  int tile = warp;
  if (a.splits > 1) {
    const auto inbox = reinterpret_cast<float4*>(rows - a.inbox_bytes) + lane;
    const int turn = warp / a.splits, to = warp - turn * a.splits;
    shared.sums.send(inbox + (turn * a.splits + block.rank) * 32, to, sum);
    tile = warp * a.splits + block.rank;
    if (tile >= kTiles) return;
    shared.sums.wait();
    sum = sum_of(inbox + warp * a.splits * 32, a.splits, 32);
  }
  const int row = block.first_row + tile / kNTiles * 16 + lane / 4;
  const int column = tile % kNTiles * 8 + lane % 4 * 2, to = block.first_column + column;
  const float values[4] = {sum.x, sum.y, sum.z, sum.w};
  Out* y = static_cast<Out*>(a.y) + static_cast<int64_t>(row) * a.ldy + to;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (row + i / 2 * 8 < a.m && to + i % 2 < a.n) {
      float value = values[i];
      if constexpr (std::is_same_v<T, Fp8Pair>) {
        value *= a.x_scales[row + i / 2 * 8] * shared.scales[column + i % 2];
      }
      value += shared.bias[column + i % 2];
      y[i / 2 * 8 * a.ldy + i % 2] = from_float<Out>(activated<kEnding, Out>(a.activation, value));
    }
  }
}

template <typename T, typename Out, int kMTiles, int kNTiles, Ending kEnding>
Status launch(const SmallLinear& l, const Cut& cut, Stream stream) {
  constexpr int kTiles = kMTiles * kNTiles;
  const int64_t tiles = ceil_div(l.n, 8 * kNTiles);
  Arguments a = {};
  a.x = l.x;
  a.w = l.w;
  a.bias = l.bias;
  a.x_scales = l.x_scales;
  a.w_scales = l.w_scales;
  a.y = l.y;
  a.m = static_cast<int>(l.m);
  a.n = static_cast<int>(l.n);
  a.k = static_cast<int>(l.k);
  a.ldx = static_cast<int>(l.ldx);
  a.ldw = static_cast<int>(l.ldw);
  a.ldy = static_cast<int>(l.ldy);
  a.splits = cut.splits;
  a.sharers = cut.sharers;
  a.block_k = static_cast<int>(ceil_div(l.k, 16 * kWarps * cut.splits) * 16 * kWarps);
  a.activation = l.activation;
  a.inbox_bytes =
      cut.splits > 1 ? static_cast<int>(ceil_div(kTiles, cut.splits)) * cut.splits * 512 : 0;
  // The warps' sums take the rows' place behind the product.
  const int64_t rows = row_bytes(a.block_k) * 16 * kMTiles, sums = kWarps * kTiles * 512;
  const int64_t bytes =
      row_bytes(a.block_k) * 8 * kNTiles + a.inbox_bytes + (rows > sums ? rows : sums);
  const auto kernel = linear_small_kernel<T, Out, kMTiles, kNTiles, kEnding>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(bytes));
  const auto cluster = static_cast<unsigned>(cut.splits * cut.sharers);
  const dim3 grid(cluster, static_cast<unsigned>(tiles / cut.sharers),
                  static_cast<unsigned>(ceil_div(l.m, 16 * kMTiles)));
  return launch_early(kernel, {grid, kWarps * 32, static_cast<size_t>(bytes), cluster}, stream, a);
}

template <typename T, typename Out, int kMTiles, Ending kEnding>
Status by_cut(const SmallLinear& linear, const Cut& cut, Stream stream) {
  switch (cut.n_tiles) {
    case 1:
      return launch<T, Out, kMTiles, 1, kEnding>(linear, cut, stream);
    case 2:
      return launch<T, Out, kMTiles, 2, kEnding>(linear, cut, stream);
    case 3:
      return launch<T, Out, kMTiles, 3, kEnding>(linear, cut, stream);
    default:
      return launch<T, Out, kMTiles, 4, kEnding>(linear, cut, stream);
  }
}

/// Cuts by n and k alone, so that a row's sums do not depend on how many there are. Measured on an
/// H200: few blocks are best, that share x among many where they do not split k.
Cut cut_of(const SmallLinear& l) {
  constexpr int64_t kFewBlocks = 24, kLongRow = 1024;
  Cut cut = {kMaxNTiles, 1, 1};
  while (l.k > kLongRow * cut.splits) cut.splits *= 2;
  const auto tiles = [&] { return ceil_div(l.n, 8 * cut.n_tiles); };
  while (cut.n_tiles > 1 && tiles() < kFewBlocks) --cut.n_tiles;
  while (cut.splits == 1 && cut.sharers < kMaxCluster && tiles() % (2 * cut.sharers) == 0) {
    cut.sharers *= 2;
  }
  return cut;
}

template <typename T, int kMTiles>
Status by_ending(const SmallLinear& args, Stream stream) {
  const Cut cut = cut_of(args);
  if (args.out == DType::f32) return by_cut<T, float, kMTiles, Ending::any>(args, cut, stream);
  switch (args.activation) {
    case Activation::none:
      return by_cut<T, T, kMTiles, Ending::none>(args, cut, stream);
    case Activation::gelu:
      return by_cut<T, T, kMTiles, Ending::gelu>(args, cut, stream);
    default:
      return by_cut<T, T, kMTiles, Ending::any>(args, cut, stream);
  }
}

/// Runs fp8 as rows of half as many pairs.
template <int kMTiles>
Status run_fp8(SmallLinear args, Stream stream) {
  args.k /= 2;
  args.ldx /= 2;
  args.ldw /= 2;
  return by_cut<Fp8Pair, __nv_bfloat16, kMTiles, Ending::none>(args, cut_of(args), stream);
}

/// Says whether the device has compute capability 9.0, which this file is compiled for.
bool fits_device() {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return major == 9 && minor == 0;
}

}  // namespace

bool takes_linear_small(const SmallLinear& args) {
  const bool fp8 = args.dtype == DType::f8;
  const int64_t unit = fp8 ? 16 : 8;  // elements of 16 bytes
  const bool halves = (args.dtype == DType::bf16 || args.dtype == DType::f16) &&
                      (args.out == args.dtype || args.out == DType::f32);
  const bool bytes = fp8 && args.out == DType::bf16 && args.activation == Activation::none;
  return (halves || bytes) && args.m >= 1 && args.m <= kSmallLinearRows && args.n >= 1 &&
         args.n <= kMaxColumns && args.k >= unit && args.k <= kMaxDepth && args.k % unit == 0 &&
         args.ldx % unit == 0 && args.ldw % unit == 0 && args.ldx <= kMaxStride &&
         args.ldw <= kMaxStride && args.ldy <= kMaxStride && aligned16(args.x) &&
         aligned16(args.w) && fits_device();
}

Status linear_small(const SmallLinear& args, Stream stream) {
  if (!takes_linear_small(args)) return "a product that is not one of few rows";
  if (args.dtype == DType::f8) {
    return args.m > 16 ? run_fp8<2>(args, stream) : run_fp8<1>(args, stream);
  }
  if (args.dtype == DType::bf16) {
    return args.m > 16 ? by_ending<__nv_bfloat16, 2>(args, stream)
                       : by_ending<__nv_bfloat16, 1>(args, stream);
  }
  return args.m > 16 ? by_ending<__half, 2>(args, stream) : by_ending<__half, 1>(args, stream);
}

}  // namespace hone::kernels::cuda
