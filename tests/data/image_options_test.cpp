#include "data/image_options.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/image_batch.h"

namespace hone::data {
namespace {

ImageOptions parsed_options(const std::string& text) { return parse_image_options(text, "p.json"); }

std::string refusal_of_options(const std::string& text) {
  try {
    parsed_options(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ImageOptions, ViTResizesToASquare) {
  const ImageOptions options = parsed_options(R"({"image_processor_type": "ViTImageProcessor"})");
  EXPECT_EQ(options.exact->height, 224);
  EXPECT_EQ(options.height, 224);
  EXPECT_EQ(options.width, 224);
  EXPECT_FALSE(options.crop);
  EXPECT_EQ(options.filter, image::Filter::bilinear);
  EXPECT_FLOAT_EQ(options.scale[0], 1 / 127.5f);
  EXPECT_FLOAT_EQ(options.shift[2], -1);
}

TEST(ImageOptions, ConvNextResizesToMoreAndCuts) {
  const ImageOptions options = parsed_options(
      R"({"feature_extractor_type": "ConvNextFeatureExtractor", "size": 224, "crop_pct": 0.875,
          "resample": 3, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]})");
  EXPECT_EQ(options.shortest_edge, 256);
  EXPECT_EQ(options.crop->width, 224);
  EXPECT_EQ(options.height, 224);
  EXPECT_EQ(options.filter, image::Filter::bicubic);
  EXPECT_FLOAT_EQ(options.scale[1], 1 / 255.f / 0.224f);
  EXPECT_FLOAT_EQ(options.shift[1], -0.456f / 0.224f);
}

TEST(ImageOptions, ConvNextFrom384OnResizesToTheSizeItself) {
  const ImageOptions options = parsed_options(
      R"({"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 384}})");
  EXPECT_FALSE(options.shortest_edge);
  EXPECT_EQ(options.exact->height, 384);
}

TEST(ImageOptions, AShortestEdgeTakesTheCropsSize) {
  const ImageOptions options = parsed_options(
      R"({"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256},
          "crop_size": {"height": 192, "width": 208}})");
  EXPECT_EQ(options.shortest_edge, 256);
  EXPECT_EQ(options.height, 192);
  EXPECT_EQ(options.width, 208);
}

TEST(ImageOptions, LevelsWithoutNormalising) {
  const ImageOptions options =
      parsed_options(R"({"size": [32, 48], "do_normalize": false, "do_rescale": false})");
  EXPECT_EQ(options.height, 32);
  EXPECT_EQ(options.width, 48);
  EXPECT_EQ(options.scale[0], 1);
  EXPECT_EQ(options.shift[0], 0);
}

TEST(ImageOptions, OwnOnesAreReadAsTheyAreWritten) {
  const ImageOptions options = square_image_options(32);
  EXPECT_EQ(options.pixels(), 1024);
  EXPECT_EQ(parsed_options(options.text).scale, options.scale);
}

TEST(ImageOptions, MistakesNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"size": {"shortest_edge": 224}})", "do_center_crop"},
      {R"({"size": {"shortest_edge": 224, "longest_edge": 300}})", "size.longest_edge"},
      {R"({"size": 0})", "size"},
      {R"({"size": 100000})", "size"},
      {R"({"size": [32]})", "size"},
      {R"({"resample": 9})", "resample"},
      {R"({"image_std": [1, 0, 1]})", "image_std"},
      {R"({"image_mean": [1, 2]})", "image_mean"},
      {R"({"image_processor_type": "DetrImageProcessor"})", "image_processor_type"},
      {R"({"image_processor_type": "ConvNextImageProcessor", "crop_pct": 0, "size": 224})",
       "crop_pct"},
      {R"({"do_pad": true})", "do_pad"},
  };
  for (const auto& [text, field] : cases) {
    EXPECT_NE(refusal_of_options(text).find(std::string("p.json: ") + field), std::string::npos)
        << text << ": " << refusal_of_options(text);
  }
}

TEST(ImageLayout, HasPixelsAndLevels) {
  const auto layout = image_layout(4, 6, 3);
  Batch batch(layout);
  batch.add(std::array<int64_t, 2>{1, 24});
  EXPECT_EQ(batch.last<uint8_t>(kPixelInput).size(), 72u);
  EXPECT_EQ(batch.last<float>(kLevelInput).size(), 6u);
  EXPECT_EQ(layout->extents(5, 0, 0)[kPixels], 120);
}

}  // namespace
}  // namespace hone::data
