#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/file.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "models/load.h"
#include "train/loss_kind.h"
#include "train/stepper.h"

/// The families' tiny models and the batches of their golden histories.
namespace hone::train {

inline constexpr std::array kFamilies = {
    "bert-words",         "roberta-regression", "xlm-roberta-multi-label",
    "distilbert-learned", "albert-groups",      "electra-projected"};

inline std::string family_test_name(const testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

struct TrainingBatch {
  models::TextBatch sequences;  ///< have labels
  StepState state;
};

struct Family {
  explicit Family(const std::string& name) : Family(name, name) {}
  Family(const std::string& name, const std::string& training)
      : folder(models::open_model_folder(HONE_TEST_DIR "/../models/goldens/" + name)),
        golden(HONE_TEST_DIR "/goldens/" + training),
        history(parse_json(read_file(golden + "/history.json"), "history.json")) {}

  models::EncoderConfig& config() { return dynamic_cast<models::EncoderConfig&>(*folder.config); }
  const models::EncoderConfig& config() const {
    return dynamic_cast<const models::EncoderConfig&>(*folder.config);
  }
  void drop(float p) {
    config().embedding_dropout = config().head_dropout = p;
    config().layer_dropout = {p, p, p};
  }
  /// What the folder lacks, such as the exits of another config, is drawn by `head_seed`.
  void load(const Target& target, std::optional<uint64_t> head_seed = {}) {
    ThreadPool pool(1);
    encoder = std::make_unique<models::Encoder>(config(), DType::f32, target, true);
    models::load_weights(*encoder, *io::Weights::open(folder.path), pool, {.head_seed = head_seed});
  }
  nn::Parameters& parameters() { return encoder->parameters(); }
  std::vector<bool> all() const {
    return std::vector<bool>(encoder->parameters().list().size(), true);
  }

  ops::LossOptions loss() const { return {.kind = loss_kind(folder.config->problem)}; }

  size_t steps() const { return history.at("history").size(); }
  /// What PyTorch saw and said in step `index`.
  const Json& step(size_t index) const { return history.at("history").at(index); }

  TrainingBatch batch(size_t index) const {
    TrainingBatch out{models::TextBatch(config()), {}};
    int64_t sample = 0;
    for (const Json& row : step(index).at("rows")) {
      out.sequences.add(row.at("ids").get<std::vector<int32_t>>(), {}, sample++);
      const Json& label = row.at("label");
      if (label.is_number_integer()) {
        out.sequences.classes.push_back(label.get<int32_t>());
      } else {
        for (const Json& target : label) out.sequences.targets.push_back(target.get<float>());
      }
    }
    out.state.step = static_cast<int64_t>(index);
    out.state.count = static_cast<double>(out.sequences.sequences());
    return out;
  }

  models::ModelFolder folder;
  std::string golden;
  Json history;
  std::unique_ptr<models::Encoder> encoder;
};

}  // namespace hone::train
