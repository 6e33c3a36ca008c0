#include <limits>

#include "gemm_backward_cases.h"

namespace hone::kernels {
namespace {

/// The shadow is what packing the same values as bf16 gives, on any number of threads.
TEST(RepackBf16, EqualsPacking) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    const ScopedIsa scope(isa);
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      for (int64_t n : {1, 15, 16, 31, 32, 33, 100}) {
        for (int64_t k : {1, 2, 31, 32, 33, 511, 512, 513, 1600}) {
          Values rows(DType::f32, n * k, 7);
          rows.set(0, std::numeric_limits<float>::quiet_NaN());
          rows.set(n * k - 1, std::numeric_limits<float>::infinity());
          const auto* values = static_cast<const float*>(rows.data());
          Buffer master(packed_bytes(isa, DType::f32, n, k));
          Buffer expected(packed_bytes(isa, DType::bf16, n, k));
          Buffer shadow(expected.size());
          std::memset(shadow.data(), 0xff, shadow.size());
          pack_rows(isa, DType::f32, values, 0, n, n, k, master.data());
          pack_rows(isa, DType::bf16, values, 0, n, n, k, expected.data());
          repack_bf16({DType::f32, isa, n, k, master.data()}, shadow.data(), pool);
          ASSERT_EQ(0, std::memcmp(shadow.data(), expected.data(), shadow.size()))
              << "n " << n << " k " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels
