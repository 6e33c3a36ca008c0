// Images through the public interface, against PyTorch's values in the golden folders of ResNets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/file.h"
#include "hone/evaluate.h"
#include "hone/hone.h"
#include "hone/train.h"
#include "image/decode.h"
#include "image/png_writer.h"
#include "io/scratch.h"
#include "models/resnet_golden.h"

namespace hone {
namespace {

const std::string kSeer = HONE_TEST_DIR "/../models/resnets/basic";

Image pixels_of(const image::Image& image) { return {image.width, image.height, image.pixels}; }

std::vector<double> softmax(const std::vector<double>& logits) {
  std::vector<double> shares;
  for (const double logit : logits) shares.push_back(std::exp(logit));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.);
  for (double& share : shares) share /= sum;
  return shares;
}

std::string golden_image(const std::string& name) {
  return HONE_TEST_DIR "/../image/goldens/" + name;
}

std::string refused(const std::vector<Image>& images) {
  try {
    Model::load(kSeer).predict_images(images);
  } catch (const Error& error) {
    return error.what();
  }
  return "answered";
}

TEST(ApiImages, AreLabelledAsPyTorchDoes) {
  const Json golden = parse_json(read_file(kSeer + "/goldens.json"), "goldens.json");
  std::vector<Image> images;
  for (int64_t i = 0; i < models::kMadeImages; ++i) {
    images.push_back(pixels_of(models::made_image(i, 29, 35)));
  }
  const Predictions found = Model::load(kSeer).predict_images(images);
  ASSERT_EQ(found.size(), images.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<double> expected = softmax(golden.at("logits")[i]);
    const auto best = std::max_element(expected.begin(), expected.end()) - expected.begin();
    EXPECT_EQ(found[i].label, "LABEL_" + std::to_string(best));
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_NEAR(found[i].scores[k], expected[k], 1e-5);
    }
    EXPECT_EQ(found[i].width, 35);
    EXPECT_EQ(found[i].height, 29);
  }
  ModelOptions options;
  options.use = Use::embed;
  const Embeddings vectors = Model::load(kSeer, options).embed_images(images);
  for (size_t i = 0; i < vectors.size(); ++i) {
    const std::vector<double> expected = golden.at("pooled")[i];
    ASSERT_EQ(vectors[i].size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(vectors[i][k], expected[k], 1e-5);
  }
}

TEST(ApiImages, AFileIsItsPixels) {
  const Model model = Model::load(kSeer);
  for (const std::string name : {"rgb.jpg", "rgba.png", "lossy.webp"}) {
    const std::string file = golden_image(name);
    const image::Image decoded = image::decode(read_file(file), file);
    const Predictions found = model.predict_images({file, pixels_of(decoded)});
    EXPECT_EQ(found[0].scores, found[1].scores) << name;
    EXPECT_EQ(found[0].width, decoded.width);
    EXPECT_EQ(found[0].height, decoded.height);
  }
}

TEST(ApiImages, ManyAreAnsweredInOrder) {
  const Model model = Model::load(kSeer);
  std::vector<Image> few, many;
  for (int64_t i = 0; i < 5; ++i) few.push_back(pixels_of(models::made_image(i, 20 + i, 30)));
  for (size_t i = 0; i < 203; ++i) many.push_back(few[i % few.size()]);
  const Predictions alone = model.predict_images(few), found = model.predict_images(many);
  ASSERT_EQ(found.size(), many.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].scores, alone[i % few.size()].scores) << i;
    EXPECT_EQ(found[i].height, 20 + static_cast<int64_t>(i % few.size()));
  }
  EXPECT_TRUE(model.predict_images({}).empty());
}

TEST(ApiImages, WhatIsNoneIsRefused) {
  EXPECT_EQ(refused({Image(2, 2, std::vector<uint8_t>(11))}),
            "images: 2 x 2 pixels are 12 bytes, got 11");
  EXPECT_EQ(refused({Image(0, 2, {})}),
            "images: expected a file, or a width and a height, got 0 x 2");
  EXPECT_EQ(refused({Image(int64_t{1} << 40, 1, {})}),
            "images: expected a file, or a width and a height, got 1099511627776 x 1");
  EXPECT_EQ(refused({Image(1 << 20, 1 << 20, {})}),
            "images: 1048576 x 1048576 pixels are more than 89478485");
  EXPECT_NE(refused({golden_image("rgb.jpg"), "/no/such.jpg"}).find("/no/such.jpg"),
            std::string::npos);
  ModelOptions options;
  options.max_image_pixels = 3;
  const Model narrow = Model::load(kSeer, options);
  EXPECT_THROW(narrow.predict_images({golden_image("rgb.jpg")}), Error);
  EXPECT_THROW(narrow.predict_images({Image(2, 2, std::vector<uint8_t>(12))}), Error);
  options.max_image_pixels = 0;
  EXPECT_THROW(Model::load(kSeer, options), Error);
}

TEST(ApiImages, AModelSaysWhatItReads) {
  const auto said = [](const std::string& model, const auto& ask) -> std::string {
    try {
      ask(Model::load(model));
    } catch (const Error& error) {
      return error.what();
    }
    return "answered";
  };
  EXPECT_EQ(said(kSeer, [](const Model& model) { model.predict({"a"}); }),
            kSeer + ": is a model of images; ask it by predict_images() or embed_images()");
  const std::string texts = HONE_TEST_DIR "/../models/goldens/bert-words";
  EXPECT_EQ(said(texts, [](const Model& model) { model.predict_images({"a"}); }),
            texts + ": is a model of texts; ask it by predict() or embed()");
}

TEST(ApiImages, AModelOfThemIsTrained) {
  const io::Scratch scratch;
  TrainingOptions options;
  for (const std::string name : {"dark", "light"}) {
    std::filesystem::create_directories(scratch / ("photos/" + name));
    for (int i = 0; i < 10; ++i) {
      image::Image image(8, 8);
      const int base = name == "dark" ? 20 : 200;
      std::fill(image.pixels.begin(), image.pixels.end(), static_cast<uint8_t>(base + 3 * i));
      write_file(scratch / ("photos/" + name + "/" + std::to_string(i) + ".png"),
                 image::png_of(image));
    }
  }
  options.task_name = "image";
  options.train_dir = scratch / "photos";
  options.train_val_split = 0.2;
  options.no_augment = true;
  options.model = kSeer;
  options.output_dir = scratch / "out";
  options.max_steps = 2;
  options.threads = 2;
  EXPECT_EQ(train_model(options).steps, 2);
  const Model model = Model::load(scratch / "out");
  EXPECT_EQ(model.labels(), (std::vector<std::string>{"dark", "light"}));
  EXPECT_EQ(model.predict_images({scratch / "photos/dark/0.png"}).size(), 1U);
  EvaluationData data;
  data.dir = scratch / "photos";
  const Evaluation scores = evaluate(scratch / "out", data).front();
  EXPECT_EQ(scores.samples, 20);
  EXPECT_EQ(scores.metrics.front().first, "accuracy");
  EXPECT_EQ(scores.metrics.back().first, "top5_accuracy");
}

}  // namespace
}  // namespace hone
