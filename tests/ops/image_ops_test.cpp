// The ops of ResNets in fp32 and bf16 on every instruction set: against their results in double for
// the same bits, and an image alone against the image in a batch, on any number of threads.
#include <cstring>

#include "ops/gradient_check.h"
#include "ops/pixels.h"

namespace hone::ops {
namespace {

/// Gives the share of the largest value that rounding a few intermediate values leaves.
double image_tolerance(DType dtype) { return dtype == DType::f32 ? 2e-5 : 4e-2; }

void round_to_bf16(std::vector<double>& values) {
  for (double& value : values) value = to_float(to_bf16(static_cast<float>(value)));
}

struct ImageRun {
  std::vector<float> output;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> weights;
};

class PackedCase {
 public:
  PackedCase(const GradientCase& c, Isa isa, DType dtype) : case_(c), isa_(isa), dtype_(dtype) {
    for (const CheckedWeight& weight : c.weights) {
      const auto slot = static_cast<int32_t>(weights_.size());
      const DType kept = weight.matrix ? dtype : DType::f32;
      weights_.push_back({slot, kept, weight.rows, weight.width});
      const std::vector<float> values(weight.values.begin(), weight.values.end());
      Buffer& array = arrays_.emplace_back(bytes_of(weight, kept));
      if (weight.matrix) {
        kernels::pack_rows(isa, dtype, values.data(), 0, weight.rows, weight.rows, weight.width,
                           array.data());
      } else {
        std::memcpy(array.data(), values.data(), values.size() * sizeof(float));
      }
      gradients_.emplace_back(bytes_of(weight, DType::f32));
    }
  }

  ImageRun run(const std::vector<double>& seed, int threads) {
    Plan plan;
    Tape tape(plan, case_.trainable());
    std::vector<Value> inputs;
    for (const CheckedInput& input : case_.inputs) {
      inputs.push_back(plan.input(dtype_, input.rows, input.width));
      tape.on_backward(inputs.back(), [] {});
    }
    const Value output = case_.record(tape, inputs, weights_, {isa_, dtype_});
    const Value dy = plan.input(dtype_, output.rows, output.width);
    plan.keep(output);
    tape.set_gradient(output, dy);
    tape.backward();
    for (const Value& input : inputs) plan.keep(*tape.gradient(input));
    ThreadPool pool(threads);
    std::vector<const void*> weights;
    std::vector<void*> gradients;
    for (size_t i = 0; i < weights_.size(); ++i) {
      weights.push_back(arrays_[i].data());
      std::memset(gradients_[i].data(), 0, gradients_[i].size());
      gradients.push_back(case_.trainable()[i] ? gradients_[i].data() : nullptr);
    }
    Runner runner(plan, weights, pool, {.gradients = {gradients}});
    runner.resize(case_.extents);
    std::vector<Buffer> held;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& values = case_.inputs[i].values;
      held.push_back(stored(std::vector<float>(values.begin(), values.end()), dtype_));
      runner.bind(inputs[i], held.back().data());
    }
    held.push_back(stored(std::vector<float>(seed.begin(), seed.end()), dtype_));
    runner.bind(dy, held.back().data());
    runner.run();
    ImageRun result;
    result.output = loaded(runner.output<void>(output), dtype_, std::ssize(seed));
    for (size_t i = 0; i < inputs.size(); ++i) {
      result.inputs.push_back(loaded(runner.output<void>(*tape.gradient(inputs[i])), dtype_,
                                     std::ssize(case_.inputs[i].values)));
    }
    for (size_t i = 0; i < weights_.size(); ++i) result.weights.push_back(gradient(i));
    return result;
  }

 private:
  size_t bytes_of(const CheckedWeight& weight, DType dtype) const {
    return weight.matrix ? kernels::packed_bytes(isa_, dtype, weight.rows, weight.width)
                         : weight.values.size() * dtype_size(dtype);
  }
  std::vector<float> gradient(size_t slot) const {
    const CheckedWeight& weight = case_.weights[slot];
    std::vector<float> out(weight.values.size());
    if (!case_.trainable()[slot]) return {};
    if (!weight.matrix) {
      std::memcpy(out.data(), gradients_[slot].data(), out.size() * sizeof(float));
      return out;
    }
    const kernels::PackedMatrix packed{DType::f32, isa_, weight.rows, weight.width,
                                       gradients_[slot].data()};
    for (int64_t row = 0; row < weight.rows; ++row) {
      kernels::unpack_row(packed, row, out.data() + row * weight.width);
    }
    return out;
  }

  GradientCase case_;
  Isa isa_;
  DType dtype_;
  std::vector<Weight> weights_;
  std::vector<Buffer> arrays_;
  std::vector<Buffer> gradients_;
};

void expect_following(const std::vector<float>& got, const std::vector<double>& wanted,
                      double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  double scale = 1e-2;  // values are around 1
  for (const double value : wanted) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * scale) << what << " at " << i;
  }
}

class ImageOps : public testing::TestWithParam<GradientCase> {};

TEST_P(ImageOps, FollowTheirResultsInDouble) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    GradientCase c = GetParam();
    if (dtype == DType::bf16) {
      for (CheckedInput& input : c.inputs) round_to_bf16(input.values);
      for (CheckedWeight& weight : c.weights) round_to_bf16(weight.values);
    }
    GradientCheck check(c);
    std::vector<double> seed = check.seed();
    if (dtype == DType::bf16) round_to_bf16(seed);
    check.set_seed(seed);
    const OpResult wanted = check.result();
    on_every_isa([&](Isa isa, const std::string& name) {
      SCOPED_TRACE(name + " " + std::string(dtype_name(dtype)));
      const ImageRun got = PackedCase(c, isa, dtype).run(seed, 2);
      const double tolerance = image_tolerance(dtype);
      expect_following(got.output, wanted.output, tolerance, "the output");
      for (size_t i = 0; i < c.inputs.size(); ++i) {
        expect_following(got.inputs[i], wanted.inputs[i], tolerance, "input " + std::to_string(i));
      }
      for (size_t i = 0; i < c.weights.size(); ++i) {
        expect_following(got.weights[i], wanted.weights[i], tolerance,
                         "weight " + std::to_string(i));
      }
    });
  }
}

TEST_P(ImageOps, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_every_isa([&](Isa isa, const std::string& name) {
      SCOPED_TRACE(name + " " + std::string(dtype_name(dtype)));
      const std::vector<double> seed = GradientCheck(GetParam()).seed();
      PackedCase packed(GetParam(), isa, dtype);
      const ImageRun one = packed.run(seed, 1);
      for (const int threads : {2, 3}) {
        const ImageRun more = packed.run(seed, threads);
        EXPECT_EQ(more.output, one.output);
        EXPECT_EQ(more.inputs, one.inputs);
        EXPECT_EQ(more.weights, one.weights);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, ImageOps, testing::ValuesIn(image_gradient_cases()),
                         [](const auto& test) { return test.param.name; });

/// A case of several images whose outputs and gradients are each image's own: none with norms.
class ImagesAlone : public testing::TestWithParam<GradientCase> {};

/// Gives the part of an array over all images that belongs to one.
template <typename T>
std::vector<T> part_of(const std::vector<T>& all, int64_t image, int64_t images) {
  const auto share = static_cast<int64_t>(all.size()) / images;
  return {all.begin() + image * share, all.begin() + (image + 1) * share};
}

TEST_P(ImagesAlone, HaveTheBitsOfTheBatch) {
  const GradientCase& c = GetParam();
  const int64_t images = c.extents[kImageCount];
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_every_isa([&](Isa isa, const std::string& name) {
      SCOPED_TRACE(name + " " + std::string(dtype_name(dtype)));
      const std::vector<double> seed = GradientCheck(c).seed();
      const ImageRun batch = PackedCase(c, isa, dtype).run(seed, 2);
      for (int64_t image = 0; image < images; ++image) {
        GradientCase alone = c;
        for (const Axis axis : {kInPixels, kOutPixels, kImageCount}) alone.extents[axis] /= images;
        alone.inputs[0].values = part_of(c.inputs[0].values, image, images);
        const ImageRun got = PackedCase(alone, isa, dtype).run(part_of(seed, image, images), 2);
        EXPECT_EQ(got.output, part_of(batch.output, image, images));
        EXPECT_EQ(got.inputs[0], part_of(batch.inputs[0], image, images));
      }
    });
  }
}

std::vector<GradientCase> cases_of_several_images() {
  std::vector<GradientCase> cases;
  for (const GradientCase& c : image_gradient_cases()) {
    const bool norms = c.name.find("block") != std::string::npos;
    if (c.extents[kImageCount] > 1 && !norms) cases.push_back(c);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Ops, ImagesAlone, testing::ValuesIn(cases_of_several_images()),
                         [](const auto& test) { return test.param.name; });

TEST(Pixels, AreScaledByTheLevelsOfTheirImage) {
  const std::vector<uint8_t> bytes = {0, 255, 10, 20, 30, 40, 50, 60};
  const std::vector<float> levels = {2, 3, 0.5f, -1, 0.25f, 1, 0, 4};
  Plan plan;
  Tape tape(plan);
  Extents extents;
  extents[kInPixels] = 4;
  extents[kImageCount] = 2;
  const Value in = plan.input(DType::u8, kInPixels, 2);
  const Value factors = plan.input(DType::f32, kImageCount, 4);
  const Value y = pixels(tape, in, factors, 2, DType::f32);
  plan.keep(y);
  ThreadPool pool(2);
  Runner runner(plan, WeightArrays(), pool, {});
  runner.resize(extents);
  runner.bind(in, bytes.data());
  runner.bind(factors, levels.data());
  runner.run();
  EXPECT_EQ(loaded(runner.output<void>(y), DType::f32, 8),
            (std::vector<float>{0.5f, 764, 20.5f, 59, 7.5f, 44, 12.5f, 64}));
}

}  // namespace
}  // namespace hone::ops
