// How the sizes of axes come about.
#include "plan/axes.h"

#include "base/error.h"
#include "plan/small_plan.h"

namespace hone {
namespace {

constexpr Axis kImages{2};
constexpr Axis kPixels{3};

int64_t round_to_eight(int64_t size) { return (size + 7) / 8 * 8; }

/// Rows in eights, images as they are, and as many pixels as both say.
Axes image_axes() {
  Axes axes;
  axes.count(kRows, "rows",
             [](const Extents& batch, const Extents&) { return round_to_eight(batch[kRows]); });
  axes.count(kImages, "images");
  axes.derived(kPixels, "pixels", [](const Extents& e) { return e[kRows] * e[kImages]; });
  return axes;
}

Extents image_batch(int64_t rows, int64_t images) {
  Extents extents = extents_of(rows);
  extents[kImages] = images;
  return extents;
}

std::string bucket_error(const Axes& axes, const Extents& batch) {
  try {
    axes.bucket(batch);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "no error";
}

TEST(Axes, CountsComeWithTheBatchAndTheRestFollows) {
  const Axes axes = image_axes();
  const Extents whole = axes.complete(image_batch(5, 3));
  EXPECT_EQ(whole[kRows], 5);
  EXPECT_EQ(whole[kImages], 3);
  EXPECT_EQ(whole[kPixels], 15);
  EXPECT_EQ(whole[Axis::one], 1);
  EXPECT_EQ(axes.complete(whole), whole);
}

TEST(Axes, APlansFlopsAreThoseOfTheWholeBatch) {
  Plan plan;
  plan.set_axes(std::make_shared<Axes>(image_axes()));
  add(plan, plan.input(DType::f32, kPixels, 2), 1);
  EXPECT_EQ(plan.flops(image_batch(5, 3)), 15. * 2);
}

TEST(Axes, BucketsRoundCountsAndDeriveFromWhatIsRounded) {
  const Axes axes = image_axes();
  const Extents bucket = axes.bucket(axes.complete(image_batch(5, 3)));
  EXPECT_EQ(bucket[kRows], 8);
  EXPECT_EQ(bucket[kImages], 3);
  EXPECT_EQ(bucket[kPixels], 24);
  EXPECT_EQ(axes.bucket(bucket), bucket);
  EXPECT_EQ(axes.bucket(axes.complete(image_batch(0, 0))), axes.complete(image_batch(0, 0)));
}

TEST(Axes, ARoundingSeesTheBucketSoFarAndTheBatch) {
  Axes axes;
  axes.count(kRows, "rows",
             [](const Extents& batch, const Extents&) { return round_to_eight(batch[kRows]); });
  axes.count(kImages, "images", [](const Extents& batch, const Extents& bucket) {
    return 100 * bucket[kRows] + 10 * batch[kRows] + batch[kImages];
  });
  EXPECT_EQ(axes.bucket(image_batch(5, 3))[kImages], 853);
}

TEST(Axes, ABucketSmallerThanItsBatchIsAnError) {
  Axes down;
  down.count(kRows, "rows", [](const Extents& batch, const Extents&) { return batch[kRows] - 1; });
  EXPECT_EQ(bucket_error(down, extents_of(5)), "axis rows: a bucket of 4 for a batch of 5");
  Axes derived;
  derived.count(kRows, "rows",
                [](const Extents& batch, const Extents&) { return round_to_eight(batch[kRows]); });
  derived.derived(kImages, "rest", [](const Extents& e) { return 100 - e[kRows]; });
  EXPECT_EQ(bucket_error(derived, derived.complete(extents_of(5))),
            "axis rest: a bucket of 92 for a batch of 95");
  EXPECT_EQ(bucket_error(derived, derived.complete(extents_of(8))), "no error");
}

TEST(Axes, APlanWithoutThemTakesSizesAsTheyAre) {
  const Plan plan;
  const Extents batch = image_batch(5, 3);
  EXPECT_EQ(plan.complete(batch), batch);
  EXPECT_EQ(plan.bucket(batch), batch);
}

TEST(Axes, AProcessorRunsDerivedSizesUnrounded) {
  Plan plan;
  plan.set_axes(std::make_shared<Axes>(image_axes()));
  const Value ones = plan.temporary(DType::f32, kPixels, 2);
  plan.add({"fill", {}, {ones}, [=](const Frame& frame) {
              std::fill_n(frame.data<float>(ones), frame.rows(ones) * ones.width, 1.f);
            }});
  const Value y = add(plan, ones, 1);
  const Value count = plan.temporary(DType::i64, Axis::one, 1);
  plan.add({"count", {y}, {count}, [=](const Frame& frame) {
              *frame.data<int64_t>(count) = frame.rows(y);
            }});
  plan.keep(y);
  plan.keep(count);
  ThreadPool pool(1);
  Runner runner(plan, {}, pool);
  runner.resize(image_batch(5, 3));
  runner.run();
  EXPECT_EQ(*runner.output<int64_t>(count), 15);
  for (int64_t i = 0; i < 15 * 2; ++i) ASSERT_EQ(runner.output<float>(y)[i], 2.f);
}

}  // namespace
}  // namespace hone
