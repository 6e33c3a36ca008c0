#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/image_processor.h"
#include "models/folder.h"
#include "models/load.h"
#include "models/model.h"

/// The folders in resnets/, which tests/parity/resnet_goldens.py makes.
namespace hone::models {

inline constexpr std::array kResNets = {"basic", "bottleneck", "bottleneck-v1", "torchvision",
                                        "cifar-padded"};
inline constexpr int64_t kMadeImages = 7;

inline std::string resnet_test_name(const testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Gives the bytes of a made-up image, as made_pixels() in tests/parity/resnet_module.py.
inline image::Image made_image(int64_t number, int64_t height, int64_t width) {
  image::Image image(width, height);
  auto state = static_cast<uint32_t>(12345 + number);
  for (auto& byte : image.pixels) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>((state >> 24) * static_cast<uint32_t>(1 + number % 4) / 4);
  }
  return image;
}

struct ResNetGolden {
  explicit ResNetGolden(const std::string& name)
      : path(HONE_TEST_DIR "/../models/resnets/" + name),
        folder(open_model_folder(path)),
        json(parse_json(read_file(path + "/goldens.json"), "goldens.json")),
        processor(family_of(*folder.config)
                      .open_processor(*folder.config, {.path = folder.path, .model = path})) {}

  std::unique_ptr<Model> model(const Target& target, DType dtype = DType::f32,
                               bool folds_norms = false) const {
    ThreadPool pool(2);
    auto made = make_model(*folder.config, {dtype, target, true, {}, folds_norms, processor.get()});
    load_weights(*made, *io::Weights::open(folder.path), pool);
    return made;
  }

  data::Batch batch(const std::vector<int64_t>& images) const {
    const auto& options = dynamic_cast<const data::ImageProcessor&>(*processor).options();
    data::Batch out(processor->layout());
    ThreadPool pool(1);
    for (const int64_t i : images) {
      const std::string raw = data::raw_image(made_image(i, options.height, options.width));
      std::vector<data::EncodedSample> samples;
      processor->encode(std::vector<data::RawSample>{{raw, {}}}, pool, samples);
      processor->append(samples.front().bytes, i, out);
      out.samples.push_back(i);
      out.classes.push_back(static_cast<int32_t>(i % std::ssize(folder.config->labels)));
    }
    return out;
  }

  std::string path;
  ModelFolder folder;
  Json json;
  std::unique_ptr<data::Processor> processor;
};

}  // namespace hone::models
