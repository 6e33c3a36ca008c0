#include "kernels/cpu/layer_norm_backward.h"

#include "device/memory.h"
#include "kernels/cpu/layer_norm_train.h"
#include "kernels/cpu/training_test.h"

namespace hone::kernels {
namespace {

struct Size {
  int64_t rows, width;
};

constexpr float kEps = 1e-5f;

/// One LayerNorm of training, forward and backward, on inputs that are the same for every type.
template <typename In, typename T, typename Out>
struct Layer {
  Layer(int64_t rows_, int64_t width_, bool with_residual)
      : rows(rows_),
        width(width_),
        x(random_values<In>(rows * width, 1, 2.0f)),
        residual(with_residual ? random_values<T>(rows * width, 2) : std::vector<T>()),
        dy(random_values<Out>(rows * width, 3)),
        weight(widened_to(random_values<float>(width, 4))),
        bias(widened_to(random_values<float>(width, 5))) {}

  static std::vector<Accumulator<T>> widened_to(const std::vector<float>& v) {
    return {v.begin(), v.end()};
  }

  void forward(const Dropout& dropout, ThreadPool& pool) {
    xhat.assign(rows * width, T{});
    y.assign(rows * width, Out{});
    rstd.assign(rows, 0);
    Buffer workspace(layer_norm_train_workspace(width, pool.size()));
    layer_norm_train(x.data(), residual.empty() ? nullptr : residual.data(), dropout,
                     NormWeightsOf<Accumulator<T>>{weight.data(), bias.data(), kEps}, rows, width,
                     Normalized<T>{xhat.data(), rstd.data()}, y.data(), workspace.data(), pool);
  }
  void backward(const Dropout& dropout, ThreadPool& pool) {
    ds.assign(rows * width, T{});
    dx.assign(rows * width, T{});
    dweight.assign(width, 0.5);
    dbias.assign(width, -0.5);
    Buffer workspace(layer_norm_backward_workspace(rows, width));
    if (workspace.size() > 0) std::memset(workspace.data(), 0xff, workspace.size());
    layer_norm_backward(dy.data(), xhat.data(), rstd.data(), weight.data(), rows, width, dropout,
                        NormGradients<T>{ds.data(), dx.data(), dweight.data(), dbias.data()},
                        workspace.data(), pool);
  }

  int64_t rows, width;
  std::vector<In> x;
  std::vector<T> residual;
  std::vector<Out> dy;
  std::vector<Accumulator<T>> weight, bias;
  std::vector<T> xhat, ds, dx;
  std::vector<Out> y;
  std::vector<Accumulator<T>> rstd, dweight, dbias;
};
using Reference = Layer<double, double, double>;

/// Computes all in double from the inputs as they were rounded.
template <typename In, typename T, typename Out>
Reference reference(const Layer<In, T, Out>& of) {
  Reference ref(of.rows, of.width, !of.residual.empty());
  ref.x = widened(of.x);
  ref.residual = widened(of.residual);
  ref.dy = widened(of.dy);
  return ref;
}

/// xhat * weight + bias, of rows as wide as they are.
template <typename W>
std::vector<double> affine(std::vector<double> xhat, const std::vector<W>& weight,
                           const std::vector<W>& bias) {
  const size_t width = weight.size();
  for (size_t i = 0; i < xhat.size(); ++i) {
    xhat[i] = xhat[i] * double{weight[i % width]} + double{bias[i % width]};
  }
  return xhat;
}

TEST(LayerNormGradient, FiniteDifferences) {
  ThreadPool pool(1);
  for (const Size& size : std::vector<Size>{{1, 2}, {3, 7}, {5, 33}}) {
    const int64_t rows = size.rows, width = size.width;
    for (const bool with_residual : {false, true}) {
      for (const float p : {0.0f, 0.3f}) {
        const DropoutRows with(p, rows);
        Reference layer(rows, width, with_residual);
        const auto loss = [&] {
          layer.forward(with.dropout, pool);
          return dot(layer.y, layer.dy);
        };
        loss();
        layer.backward(with.dropout, pool);
        for (double& g : layer.dweight) g -= 0.5;
        for (double& g : layer.dbias) g += 0.5;
        expect_gradient(layer.x, layer.dx, loss);
        if (with_residual) expect_gradient(layer.residual, layer.ds, loss);
        expect_gradient(layer.weight, layer.dweight, loss);
        expect_gradient(layer.bias, layer.dbias, loss);
      }
    }
  }
}

template <typename Types>
class LayerNormTrain : public testing::Test {};
template <typename I, typename S, typename O>
struct Mix {
  using In = I;
  using T = S;
  using Out = O;
};
using Mixes = testing::Types<Mix<float, float, float>, Mix<bf16, bf16, bf16>,
                             Mix<float, bf16, bf16>, Mix<bf16, bf16, float>>;
TYPED_TEST_SUITE(LayerNormTrain, Mixes);

TYPED_TEST(LayerNormTrain, AgreesWithDouble) {
  using In = typename TypeParam::In;
  using T = typename TypeParam::T;
  using Out = typename TypeParam::Out;
  for (const Size& size : std::vector<Size>{
           {1, 3}, {3, 15}, {9, 16}, {17, 17}, {8, 33}, {70, 384}, {5, 767}, {600, 64}, {0, 16}}) {
    const int64_t rows = size.rows, width = size.width;
    for (const bool with_residual : {false, true}) {
      for (const float p : {0.0f, 0.1f}) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(width));
        const DropoutRows with(p, rows);
        Layer<In, T, Out> layer(rows, width, with_residual);
        Reference ref = reference(layer);
        for_each_isa([&] {
          ThreadPool pool(2);
          layer.forward(with.dropout, pool);
          ref.forward(with.dropout, pool);
          expect_close(layer.xhat, ref.xhat, 2e-5);
          ref.y = affine(widened(layer.xhat), layer.weight, layer.bias);
          expect_close(layer.y, ref.y, 4e-5);
          for (int64_t r = 0; r < rows; ++r) {
            ASSERT_NEAR(layer.rstd[r], ref.rstd[r], 1e-5 * ref.rstd[r]);
          }
          ref.xhat = widened(layer.xhat);
          ref.rstd.assign(layer.rstd.begin(), layer.rstd.end());
          layer.backward(with.dropout, pool);
          ref.backward(with.dropout, pool);
          expect_gradients_close(layer.ds, ref.ds, 5e-6);
          expect_gradients_close(layer.dx, ref.dx, 5e-6);
          expect_gradients_close(layer.dweight, ref.dweight, 5e-6);
          expect_gradients_close(layer.dbias, ref.dbias, 5e-6);
        });
      }
    }
  }
}

TYPED_TEST(LayerNormTrain, NoBitDependsOnTheThreads) {
  using T = typename TypeParam::T;
  const int64_t rows = 301, width = 100;
  const DropoutRows with(0.2f, rows);
  Layer<typename TypeParam::In, T, typename TypeParam::Out> layer(rows, width, true);
  for_each_isa([&] {
    ThreadPool one(1);
    layer.forward(with.dropout, one);
    layer.backward(with.dropout, one);
    const auto first = layer;
    for (const int threads : {2, 3}) {
      ThreadPool pool(threads);
      layer.forward(with.dropout, pool);
      layer.backward(with.dropout, pool);
      EXPECT_TRUE(same_bits(layer.y.data(), first.y.data(), rows * width));
      EXPECT_TRUE(same_bits(layer.ds.data(), first.ds.data(), rows * width));
      EXPECT_TRUE(same_bits(layer.dx.data(), first.dx.data(), rows * width));
      EXPECT_EQ(layer.dweight, first.dweight);
      EXPECT_EQ(layer.dbias, first.dbias);
    }
  });
}

TEST(LayerNormTrainBits, AreThoseOfInferenceAndOfTheAffinePartAgain) {
  const int64_t rows = 11, width = 50;
  Layer<float, float, float> layer(rows, width, true);
  for_each_isa([&] {
    ThreadPool pool(1);
    layer.forward({}, pool);
    const NormWeights norm{layer.weight.data(), layer.bias.data(), kEps};
    std::vector<float> y(rows * width);
    layer_norm(layer.x.data(), layer.residual.data(), norm, rows, width, y.data(), {}, pool);
    EXPECT_TRUE(same_bits(y.data(), layer.y.data(), rows * width));
    std::fill(y.begin(), y.end(), 0.0f);
    norm_affine(layer.xhat.data(), norm, rows, width, y.data(), pool);
    EXPECT_TRUE(same_bits(y.data(), layer.y.data(), rows * width));
  });
}

TEST(LayerNormTrainBits, OfBf16AreThoseOfTheAffinePartAgain) {
  const int64_t rows = 11, width = 50;
  Layer<bf16, bf16, bf16> layer(rows, width, true);
  for_each_isa([&] {
    ThreadPool pool(1);
    layer.forward({}, pool);
    std::vector<bf16> y(rows * width);
    norm_affine(layer.xhat.data(), NormWeights{layer.weight.data(), layer.bias.data(), kEps}, rows,
                width, y.data(), pool);
    EXPECT_TRUE(same_bits(y.data(), layer.y.data(), rows * width));
  });
}

TEST(LayerNormBackward, FrozenWeightsAndGradientInPlace) {
  const int64_t rows = 20, width = 24;
  Layer<float, float, float> layer(rows, width, false);
  ThreadPool pool(2);
  for_each_isa([&] {
    layer.forward({}, pool);
    layer.backward({}, pool);
    EXPECT_TRUE(same_bits(layer.dx.data(), layer.ds.data(), rows * width));
    std::vector<float> in_place = layer.dy;
    Buffer workspace(layer_norm_backward_workspace(rows, width));
    layer_norm_backward(in_place.data(), layer.xhat.data(), layer.rstd.data(), layer.weight.data(),
                        rows, width, {}, NormGradients<float>{.sum = in_place.data()},
                        workspace.data(), pool);
    EXPECT_TRUE(same_bits(in_place.data(), layer.ds.data(), rows * width));
  });
}

template <typename T>
void check_embedding() {
  const int64_t width = 37, tokens = 9;
  const auto word = random_values<T>(20 * width, 1), type = random_values<T>(2 * width, 2),
             position = random_values<T>(16 * width, 3);
  const std::vector<int32_t> ids = {3, 19, 0, 3, 7, 1, 1, 2, 18},
                             types = {0, 1, 0, 1, 1, 0, 0, 1, 0},
                             positions = {2, 3, 4, 5, 15, 0, 1, 2, 3};
  const auto norm = random_values<float>(2 * width, 4);
  const std::vector<double> wide_norm(norm.begin(), norm.end());
  const std::vector<double> weight(norm.begin(), norm.begin() + width);
  const std::vector<double> bias(norm.begin() + width, norm.end());
  const auto wide_word = widened(word), wide_type = widened(type),
             wide_position = widened(position);
  const EmbeddingIds which{ids.data(), types.data(), positions.data()};
  std::vector<double> xhat(tokens * width), rstd(tokens), y(tokens * width);
  ThreadPool pool(2);
  embed_and_normalize_train<double, double>(
      {wide_word.data(), wide_type.data(), wide_position.data(), width}, which, tokens,
      {wide_norm.data(), wide_norm.data() + width, kEps}, {xhat.data(), rstd.data()}, y.data(),
      pool);
  for_each_isa([&] {
    std::vector<T> got_xhat(tokens * width), got_y(tokens * width);
    std::vector<float> got_rstd(tokens);
    embed_and_normalize_train<T, T>({word.data(), type.data(), position.data(), width}, which,
                                    tokens, {norm.data(), norm.data() + width, kEps},
                                    {got_xhat.data(), got_rstd.data()}, got_y.data(), pool);
    expect_close(got_xhat, xhat, 1e-5);
    expect_close(got_y, affine(widened(got_xhat), weight, bias), 2e-5);
    expect_close(got_rstd, rstd, 1e-5);
  });
}
TEST(EmbeddingTrain, ValuesF32) { check_embedding<float>(); }
TEST(EmbeddingTrain, ValuesBf16) { check_embedding<bf16>(); }

template <typename T>
class ColumnSums : public testing::Test {};
TYPED_TEST_SUITE(ColumnSums, StorageTypes);

TYPED_TEST(ColumnSums, AddToWhatIsThere) {
  for (const Size& size :
       std::vector<Size>{{0, 5}, {1, 1}, {7, 15}, {8, 16}, {9, 17}, {700, 33}, {65, 768}}) {
    const int64_t rows = size.rows, width = size.width;
    const int64_t stride = width + 3;
    const auto x = random_values<TypeParam>(rows * stride, 1);
    std::vector<double> expected(width, 2.0);
    ThreadPool one(1);
    add_column_sums(widened(x).data(), stride, rows, width, expected.data(), nullptr, one);
    double check = 2.0;
    for (int64_t r = 0; r < rows; ++r) check += to_float(x[r * stride + width - 1]);
    EXPECT_DOUBLE_EQ(expected[width - 1], check);
    for_each_isa([&] {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        std::vector<float> sums(width, 2.0f);
        Buffer workspace(layer_norm_backward_workspace(rows, width));
        add_column_sums(x.data(), stride, rows, width, sums.data(), workspace.data(), pool);
        expect_gradients_close(sums, expected, 2e-6);
        if (threads == 1) first = sums;
        EXPECT_EQ(sums, first);
      }
    });
  }
}

}  // namespace
}  // namespace hone::kernels
