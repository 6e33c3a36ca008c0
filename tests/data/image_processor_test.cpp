#include "data/image_processor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "data/image_batch.h"
#include "image/goldens.h"

namespace hone::data {
namespace {

TEST(ImageProcessor, PixelsAndValuesAreThoseOfTransformers) {
  for (const Json& item : image::image_goldens().at("preprocessed")) {
    SCOPED_TRACE(item.at("options").dump() + item.at("file").get<std::string>());
    const ImageOptions options = parse_image_options(item.at("options").dump(), "p.json");
    const image::Image made = preprocess(image::golden_image(item.at("file")), options);
    EXPECT_EQ(made.width, options.width);
    EXPECT_EQ(made.height, options.height);
    EXPECT_EQ(image::fnv_of(made.pixels), item.at("fnv"));
    for (size_t i = 0; i < item.at("first").size(); ++i) {
      const float value =
          static_cast<float>(made.pixels[i]) * options.scale[i % 3] + options.shift[i % 3];
      EXPECT_NEAR(value, item.at("first").at(i).get<float>(), 1e-5);
    }
  }
}

TEST(ImageProcessor, MakesBatchesOfPathsAndOfImagesInMemory) {
  const ImageProcessor processor(square_image_options(8));
  ThreadPool pool(2);
  image::Image plain(16, 16);
  std::fill(plain.pixels.begin(), plain.pixels.end(), uint8_t{51});
  const std::string path = image::kGoldens + "rgb.png", raw = raw_image(plain);
  const std::vector<RawSample> inputs = {{path, {}}, {raw, {}}};
  std::vector<EncodedSample> samples;
  processor.encode(inputs, pool, samples);
  EXPECT_EQ(samples[0].width, 21);
  EXPECT_EQ(samples[0].height, 17);
  EXPECT_EQ(samples[1].units, 64);
  Batch batch(processor.layout());
  for (const EncodedSample& sample : samples) processor.append(sample.bytes, 0, batch);
  EXPECT_EQ(batch.rows(kPixels), 128);
  EXPECT_EQ(batch.array<uint8_t>(kPixelInput)[3 * 64 + 5], 51);
  EXPECT_FLOAT_EQ(batch.array<float>(kLevelInput)[6], 1 / 127.5f);
  EXPECT_FLOAT_EQ(batch.array<float>(kLevelInput)[11], -1);
}

TEST(ImageProcessor, SaysWhichImagesAreBad) {
  const ImageProcessor processor(square_image_options(8));
  ThreadPool pool(2);
  const std::string good = image::kGoldens + "rgb.png", bad = image::kGoldens + "goldens.json";
  const std::string missing = image::kGoldens + "none.png";
  const std::vector<RawSample> inputs = {{good, {}}, {bad, {}}, {good, {}}, {missing, {}}};
  std::vector<EncodedSample> samples;
  const std::vector<std::string> problems = processor.try_encode(inputs, pool, samples);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0] + problems[2], "");
  EXPECT_NE(problems[1].find("goldens.json: expected a JPEG"), std::string::npos) << problems[1];
  EXPECT_NE(problems[3].find("none.png: "), std::string::npos) << problems[3];
  EXPECT_THROW(processor.encode(inputs, pool, samples), Error);
}

TEST(ImageProcessor, DamagedSamplesAreRefused) {
  const ImageProcessor processor(square_image_options(4));
  Batch batch(processor.layout());
  EXPECT_THROW(processor.append(std::vector<std::byte>(47), 0, batch), Error);
  ThreadPool pool(1);
  std::vector<EncodedSample> samples;
  for (const std::string& raw :
       {std::string(1, '\0'), std::string(9, '\0'), raw_image(image::Image(2, 2)).substr(0, 20)}) {
    const std::vector<RawSample> inputs = {{raw, {}}};
    EXPECT_THROW(processor.encode(inputs, pool, samples), Error);
  }
}

TEST(ImageProcessor, AStoreIsOfOneSizeAndFilter) {
  const Hash128 one = ImageProcessor(square_image_options(8)).hash();
  EXPECT_EQ(one, ImageProcessor(square_image_options(8)).hash());
  EXPECT_NE(one, ImageProcessor(square_image_options(9)).hash());
  ImageOptions other = square_image_options(8);
  other.filter = image::Filter::bicubic;
  EXPECT_NE(one, ImageProcessor(other).hash());
}

}  // namespace
}  // namespace hone::data
