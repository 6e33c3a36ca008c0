#include "nn/image_axes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone::nn {
namespace {

constexpr Axis kImages{1}, kPixels{2};
constexpr ImageSize kSize{8, 6};

Extents images(int64_t count) {
  Extents extents;
  extents[kImages] = count;
  return extents;
}

TEST(ImageAxes, FollowFromTheImages) {
  ImageAxes axes(kImages, kPixels, kSize);
  const Axis half = axes.of({4, 3});
  EXPECT_EQ(axes.of(kSize), kPixels);
  EXPECT_EQ(axes.of({3, 4}), half) << "as many pixels are the same rows";
  EXPECT_NE(half, kPixels);
  const Extents whole = axes.rules(false)->complete(images(5));
  EXPECT_EQ(whole[kPixels], 5 * 48);
  EXPECT_EQ(whole[half], 5 * 12);
}

TEST(ImageAxes, AreRoundedWhereABucketMayHaveMoreImages) {
  const ImageAxes axes(kImages, kPixels, kSize);
  for (const int64_t count : {1, 8, 9, 32, 33, 100}) {
    const Extents batch = axes.rules(true)->complete(images(count));
    EXPECT_EQ(axes.rules(false)->bucket(batch)[kImages], count);
    const Extents bucket = axes.rules(true)->bucket(batch);
    EXPECT_GE(bucket[kImages], count);
    EXPECT_LE(bucket[kImages] * 8, count * 9);
    EXPECT_EQ(bucket[kPixels], bucket[kImages] * 48);
  }
  EXPECT_EQ(axes.rules(true)->bucket(axes.rules(true)->complete(images(33)))[kImages], 36);
}

TEST(ImageAxes, OfTooManySizesAreAnError) {
  ImageAxes axes(kImages, kPixels, kSize);
  for (int64_t side = 1; side <= static_cast<int64_t>(kMaxAxes) - 3; ++side) axes.of({side, 1});
  try {
    axes.of({100, 1});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

TEST(ImageAxes, WindowsArePaddedByHalfOfThem) {
  const kernels::Window window = window_of(kSize, 3, 3, 2);
  EXPECT_EQ(window.padding, 1);
  EXPECT_EQ(window.out_height(), 4);
  EXPECT_EQ(window.out_width(), 3);
}

}  // namespace
}  // namespace hone::nn
