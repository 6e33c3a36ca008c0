#include "kernels/cuda/product.h"

#include "base/error.h"
#include "base/file.h"
#include "kernels/cuda/gpu_test.h"
#include "kernels/cuda/tuning.h"

namespace hone::kernels::cuda {
namespace {

struct Sizes {
  int64_t m, n, k;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},     {3, 5, 7},      {16, 16, 16},   {17, 33, 65},
                                   {1, 768, 768}, {130, 96, 320}, {64, 3072, 64}, {489, 768, 256}};

/// One product: its arrays on the device and the expected result.
struct Product {
  Product(CudaStream& stream_, ProductKind kind, DType dtype, DType out, const Sizes& s, bool add,
          bool bias)
      : stream(stream_) {
    const bool forward = kind == ProductKind::forward;
    const bool weight = kind == ProductKind::weight_gradient;
    rows = weight ? s.n : s.m;
    columns = forward ? s.n : s.k;
    const int64_t a_columns = forward ? s.k : s.n, b_rows = weight ? s.m : s.n;
    shape = {.kind = kind,
             .dtype = dtype,
             .out = out,
             .add = add,
             .bias = bias,
             .m = s.m,
             .n = s.n,
             .k = s.k,
             .lda = a_columns,
             .ldb = s.k,
             .ldc = columns};
    a = random_floats(s.m * a_columns, 1, dtype);
    b = random_floats(b_rows * s.k, 2, dtype);
    bias_values = random_floats(s.n, 3, out);
    before = random_floats(rows * columns, 4, out);
    expected.assign(size_t(rows * columns), 0.0);
    const int64_t depth = forward ? s.k : weight ? s.m : s.n;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double sum = (add ? before[i * columns + j] : 0.0) + (bias ? bias_values[j] : 0.0);
        for (int64_t l = 0; l < depth; ++l) {
          const float x = weight ? a[l * s.n + i] : a[i * a_columns + l];
          const float y = forward ? b[j * s.k + l] : b[l * s.k + j];
          sum += double{x} * y;
        }
        expected[i * columns + j] = sum;
      }
    }
  }
  std::vector<float> run(bool tune) {
    const KernelApi& api = kernel_api();
    DeviceArray da(stream, shape.dtype, a), db(stream, shape.dtype, b);
    DeviceArray dbias(stream, shape.out, bias_values);
    DeviceArray c(stream, shape.out, shape.add ? before : std::vector<float>(before.size(), NAN));
    const ProductArrays arrays{da.data(), db.data(), shape.bias ? dbias.data() : nullptr, c.data()};
    CudaBuffer workspace(kLimit);
    if (tune) {
      cuda_check(api.product_tune(shape, arrays, workspace.data(), kLimit, stream.handle()),
                 "tuning");
      c.set(before);
    }
    size_t bytes = 0;
    cuda_check(api.product_prepare(shape, kLimit, &bytes), "preparing");
    EXPECT_LE(bytes, kLimit);
    cuda_check(api.product(shape, arrays, workspace.data(), bytes, stream.handle()), "product");
    return c.get();
  }

  static constexpr size_t kLimit = size_t{32} << 20;
  CudaStream& stream;
  ProductShape shape;
  int64_t rows, columns;
  std::vector<float> a, b, bias_values, before;
  std::vector<double> expected;
};

class CudaProduct : public GpuTest {};

TEST_F(CudaProduct, Values) {
  for (const DType dtype : kDTypes) {
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(s.m) + " " +
                   std::to_string(s.n) + " " + std::to_string(s.k));
      for (const bool more : {false, true}) {
        // cuBLASLt may round the sum before it adds a bias or what was there.
        const double narrow = dtype == DType::bf16 ? 1.0 / 256 : 1.0 / 2048;
        const double error = more && dtype != DType::f32 ? narrow : 2e-6;
        Product forward(stream(), ProductKind::forward, dtype, dtype, s, false, more);
        expect_near(forward.run(false), forward.expected, dtype, error);
        Product input(stream(), ProductKind::input_gradient, dtype, dtype, s, more, false);
        expect_near(input.run(false), input.expected, dtype, error);
        Product weight(stream(), ProductKind::weight_gradient, dtype, DType::f32, s, more, false);
        expect_near(weight.run(false), weight.expected, DType::f32, 2e-6);
      }
    }
  }
}

TEST_F(CudaProduct, TunedAndRestored) {
  Product p(stream(), ProductKind::forward, DType::bf16, DType::bf16, {200, 768, 768}, false, true);
  const std::vector<float> tuned = p.run(true);
  expect_near(tuned, p.expected, DType::bf16, 1.0 / 256);
  EXPECT_EQ(tuned, p.run(false));  // one algorithm has one result
  TunedProduct found = {};
  bool seen = false;
  for (int64_t i = 0; !seen && !api().product_tuned(i, &found); ++i) {
    seen = found.shape.m == 200 && found.shape.k == 768;
  }
  ASSERT_TRUE(seen);
  EXPECT_GT(found.algorithm.microseconds, 0);
  check(api().product_restore(found));
  EXPECT_EQ(tuned, p.run(false));
}

TEST_F(CudaProduct, TuningFile) {
  Product p(stream(), ProductKind::weight_gradient, DType::bf16, DType::f32, {192, 256, 128}, true,
            false);
  const std::vector<float> tuned = p.run(true);
  const std::string path = testing::TempDir() + "/tuning.json";
  save_tuning(path);
  EXPECT_EQ(load_tuning(path), "");
  EXPECT_EQ(tuned, p.run(false));

  std::string text = read_file(path);
  const auto edited = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    const size_t at = copy.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    copy.replace(at, from.size(), to);
    write_file(path, copy);
  };
  edited("\"device\": \"", "\"device\": \"other ");
  EXPECT_NE(load_tuning(path).find("made on 'other "), std::string::npos);
  edited("weight_gradient", "other");
  EXPECT_THROW(load_tuning(path), Error);
  edited("\"algorithm\": [\n    \"", "\"algorithm\": [\n    \"x");
  EXPECT_THROW(load_tuning(path), Error);
  edited("\"m\": ", "\"m\": -");
  EXPECT_THROW(load_tuning(path), Error);
  std::remove(path.c_str());
}

TEST_F(CudaProduct, EmptyAndUnprepared) {
  Product none(stream(), ProductKind::weight_gradient, DType::bf16, DType::f32, {0, 3, 4}, false,
               false);
  for (const float value : none.run(false)) EXPECT_EQ(value, 0.0f);
  const ProductShape shape{
      .dtype = DType::f32, .m = 9, .n = 9, .k = 9, .lda = 9, .ldb = 9, .ldc = 9};
  EXPECT_STREQ(api().product(shape, {}, nullptr, 0, handle()), "a product that was not prepared");
}

}  // namespace
}  // namespace hone::kernels::cuda
