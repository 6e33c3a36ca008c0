#include "kernels/cuda/linear_gelu.cuh"
#include "kernels/cuda/linear_gelu.h"
#include "kernels/cuda/row_sums.cuh"

namespace hone::kernels::cuda {
namespace {

/// Writes the product times gelu'(z) to memory, and its column sums over a warp's rows of a tile. z
/// comes during the product to where the result goes; where kAgain, gelu(z) goes to memory from
/// there first.
template <typename T, bool kAgain>
struct GeluBackwardEnd {
  using Type = T;
  static constexpr bool kBackward = true;

  __device__ __forceinline__ GeluBackwardEnd(const GeluMaps& maps_, const GeluSizes& sizes_,
                                             uint32_t memory)
      : maps(maps_), sizes(sizes_), warp(static_cast<int>(threadIdx.x / 32) - 4) {
    chunks = memory + GeluMemory::kResults + warp * kChunks * kChunkBytes;
    loaded = memory + GeluMemory::kLoaded + warp * 8;
  }

  __device__ __forceinline__ void begin(TileSums& sums, int, int) const {
#pragma unroll
    for (int i = 0; i < kTileColumns; ++i) sums[i / 64][i % 64] = 0.0f;
  }

  __device__ __forceinline__ void turn(int row, int column) const {
    if (threadIdx.x % 32 != 0) return;
    wait_stored<0>();
    barrier_expect(loaded, kChunks * kChunkBytes);
    for (int i = 0; i < kChunks; ++i) {
      load_box(chunks + i * kChunkBytes, maps.z, column + i / 2 * 64,
               row + i % 2 * 64 + warp % 4 * 16, loaded);
    }
  }

  __device__ __forceinline__ void finish(TileSums& sums, int row, int column) {
    const int own_row = row + warp % 4 * 16;
    barrier_wait(loaded, parity);
    parity ^= 1;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float totals[16] = {};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        multiply_part(sums[i / 4] + 32 * c + 8 * (i % 4), 2 * c + i / 4, i % 4, totals + i % 4 * 4);
      }
      if constexpr (kAgain) {
        shared_written();
        __syncwarp();
        if (threadIdx.x % 32 == 0) store_chunks(chunks, c, maps.y, own_row, column);
      }
      if (sizes.partials) write_totals(totals, row, column + 64 * c);
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      // The two boxes of the other half may still be on their way: of y, then of dz.
      if (kAgain && threadIdx.x % 32 == 0) wait_stored<2>();
      __syncwarp();
      store_half<T>(sums, c, chunks, maps.out, own_row, column);
    }
  }

  /// v [8], 16 columns of a thread's rows, becomes dz and is added to the four totals; z in shared
  /// memory becomes gelu(z).
  __device__ __forceinline__ void multiply_part(float* v, int chunk, int part,
                                                float* totals) const {
    uint32_t z[4];
    load_matrices(z, matrix_place(chunks, chunk, part));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack_pair<T>(z[i]);
      const ActivationValue a = narrow_gelu(pair.x), b = narrow_gelu(pair.y);
      v[2 * i] *= a.slope;
      v[2 * i + 1] *= b.slope;
      if constexpr (kAgain) z[i] = pack_pair<T>(a.value, b.value);
      totals[i / 2 * 2] += v[2 * i];
      totals[i / 2 * 2 + 1] += v[2 * i + 1];
    }
    if constexpr (kAgain) {
      store_matrices(matrix_place(chunks, chunk, part), z[0], z[1], z[2], z[3]);
    }
  }

  /// Exchanges totals: this lane goes on with one half of kStep totals and lane ^ kStep with the
  /// other.
  template <int kStep>
  static __device__ __forceinline__ void share_totals(float (&totals)[16]) {
    const bool upper = threadIdx.x & kStep;
#pragma unroll
    for (int i = 0; i < kStep / 2; ++i) {
      const float kept = upper ? totals[i + kStep / 2] : totals[i];
      const float given = upper ? totals[i] : totals[i + kStep / 2];
      totals[i] = kept + __shfl_xor_sync(0xffffffffu, given, kStep);
    }
  }

  /// The 16 totals that eight lanes have each become two of 64 columns in lane l: 2 l and 2 l + 1.
  __device__ __forceinline__ void write_totals(float (&totals)[16], int row, int column) const {
    share_totals<16>(totals);
    share_totals<8>(totals);
    share_totals<4>(totals);
    column += static_cast<int>(threadIdx.x % 32) * 2;
    if (row + warp % 4 * 16 >= sizes.rows || column >= sizes.columns) return;
    const int64_t at = (int64_t{row / kTileRows} * 4 + warp % 4) * sizes.columns + column;
    *reinterpret_cast<float2*>(sizes.partials + at) = {totals[0], totals[1]};
  }

  const GeluMaps& maps;
  const GeluSizes& sizes;
  int warp;
  uint32_t chunks, loaded;
  uint32_t parity = 0;
};

template <typename T>
Status launch(const LinearGeluBackward& args, float* partials, Stream stream) {
  GeluMaps maps;
  Status status =
      describe_boxes(&maps.a, args.dtype, args.dy, args.m, args.n, args.lddy, kTileRows);
  if (!status) {
    status = describe_boxes(&maps.b, args.dtype, args.weight, args.n, args.k, args.k, kTileDepth);
  }
  if (!status) status = describe_boxes(&maps.z, args.dtype, args.z, args.m, args.k, args.k, 16);
  if (!status) status = describe_boxes(&maps.out, args.dtype, args.dz, args.m, args.k, args.k, 16);
  if (!status && args.y) {
    status = describe_boxes(&maps.y, args.dtype, args.y, args.m, args.k, args.k, 16);
  }
  if (status) return status;
  const GeluSizes sizes{.rows = static_cast<int>(args.m),
                        .columns = static_cast<int>(args.k),
                        .depth = static_cast<int>(args.n),
                        .partials = partials};
  return args.y ? launch_linear_gelu<GeluBackwardEnd<T, true>>(maps, sizes, stream)
                : launch_linear_gelu<GeluBackwardEnd<T, false>>(maps, sizes, stream);
}

}  // namespace

bool linear_gelu_backward_fits(const LinearGeluBackward& args) {
  return gelu_product_fits(args.dtype, args.m, args.n, args.k, args.lddy) && aligned16(args.dy) &&
         aligned16(args.weight) && aligned16(args.z) && aligned16(args.dz) && aligned16(args.y);
}

Status linear_gelu_backward(const LinearGeluBackward& args, void* workspace, Stream stream,
                            RowSums* sums) {
  if (sums) *sums = {};
  if (!linear_gelu_backward_fits(args)) return "a product with GELU that its kernel does not take";
  if (args.m == 0) return nullptr;
  auto* partials = args.dbias ? static_cast<float*>(workspace) : nullptr;
  if (partials) {
    *sums = {partials,
             gelu_sum_parts(args.m),
             1,
             static_cast<int32_t>(args.k),
             {args.dbias, nullptr, nullptr}};
  }
  return args.dtype == DType::bf16 ? launch<__nv_bfloat16>(args, partials, stream)
                                   : launch<__half>(args, partials, stream);
}

}  // namespace hone::kernels::cuda
