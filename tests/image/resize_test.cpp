#include "image/resize.h"

#include <gtest/gtest.h>

#include "image/goldens.h"

namespace hone::image {
namespace {

Box box_of(const Json& item, const Image& image) {
  if (!item.contains("box")) {
    return {0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
  }
  const auto edge = [&](size_t i) { return item.at("box").at(i).get<double>(); };
  return {edge(0), edge(1), edge(2), edge(3)};
}

TEST(Resize, PixelsAreThoseOfPillow) {
  for (const Json& item : image_goldens().at("resized")) {
    SCOPED_TRACE(item.dump());
    const Image image = golden_image(item.at("file"));
    const int64_t width = item.at("size").at(0), height = item.at("size").at(1);
    const auto filter = static_cast<Filter>(item.at("filter").get<int>());
    const Resize how = {box_of(item, image), width, height, {0, 0, width, height}};
    EXPECT_EQ(fnv_of(resize(image, how, filter).pixels), item.at("fnv"));
  }
}

TEST(Resize, AWindowIsThatPartOfTheWhole) {
  const Image image = golden_image("444.jpg");
  for (int filter = 0; filter < 6; ++filter) {
    const auto kind = static_cast<Filter>(filter);
    const Image whole = resize(image, 50, 40, kind);
    const Resize how = {{0, 0, 37, 29}, 50, 40, {7, 3, 20, 31}};
    const Image part = resize(image, how, kind);
    for (int64_t y = 0; y < 31; ++y) {
      ASSERT_TRUE(std::equal(part.row(y), part.row(y) + 60, whole.row(3 + y) + 21)) << filter;
    }
  }
}

TEST(Resize, AWindowOfAHugeResultIsCheap) {
  // 1 x 30,000 to a shorter edge of 256 would be 7.7 million rows.
  const Image line(1, 30000);
  const Resize how = {{0, 0, 1, 30000}, 256, 7680000, {0, 3839872, 256, 256}};
  EXPECT_EQ(resize(line, how, Filter::bicubic).height, 256);
}

TEST(CenterCrop, PadsWhereTheImageIsSmaller) {
  Image image(3, 3);
  image.pixels[3 * 4] = 200;  // the middle
  const Image wide = center_crop(image, 6, 2);
  // Three columns of padding more: two on the left, one on the right.
  EXPECT_EQ(wide.row(1)[3 * 3], 200);
  EXPECT_EQ(wide.width, 6);
  EXPECT_EQ(center_crop(image, 1, 1).pixels.front(), 200);
}

}  // namespace
}  // namespace hone::image
