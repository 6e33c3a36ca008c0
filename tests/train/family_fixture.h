#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/file.h"
#include "models/folder.h"
#include "models/load.h"
#include "train/stepper.h"

/// The families' tiny models and the batches of their golden histories.
namespace hone::train {

inline constexpr std::array kFamilies = {"bert-words", "roberta-regression",
                                         "xlm-roberta-multi-label", "distilbert-learned",
                                         "albert-groups"};

inline std::string family_test_name(const testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

struct TrainingBatch {
  models::Batch sequences;
  Labels labels;
  StepState state;
};

struct Family {
  explicit Family(const std::string& name) : Family(name, name) {}
  Family(const std::string& name, const std::string& training)
      : folder(models::open_model_folder(HONE_TEST_DIR "/../models/goldens/" + name)),
        golden(HONE_TEST_DIR "/goldens/" + training),
        history(parse_json(read_file(golden + "/history.json"), "history.json")) {}

  void drop(float p) {
    folder.config.embedding_dropout = folder.config.head_dropout = p;
    folder.config.layer_dropout = {p, p, p};
  }
  /// What the folder lacks, such as the exits of another config, is drawn by `head_seed`.
  void load(Isa isa, std::optional<uint64_t> head_seed = {}) {
    ThreadPool pool(1);
    encoder = std::make_unique<models::Encoder>(folder.config, DType::f32, isa, true);
    models::load_weights(*encoder, *io::Weights::open(folder.path), pool, {.head_seed = head_seed});
  }
  nn::Parameters& parameters() { return encoder->parameters(); }
  std::vector<bool> all() const {
    return std::vector<bool>(encoder->parameters().list().size(), true);
  }

  ops::LossOptions loss() const {
    switch (folder.config.problem) {
      case models::ProblemType::regression:
        return {.kind = ops::LossKind::squared_error};
      case models::ProblemType::multi_label:
        return {.kind = ops::LossKind::binary_cross_entropy};
      default:
        return {.kind = ops::LossKind::cross_entropy};
    }
  }

  size_t steps() const { return history.at("history").size(); }
  /// What PyTorch saw and said in step `index`.
  const Json& step(size_t index) const { return history.at("history").at(index); }

  TrainingBatch batch(size_t index) const {
    TrainingBatch out{models::Batch(folder.config), {}, {}};
    int64_t sample = 0;
    for (const Json& row : step(index).at("rows")) {
      out.sequences.add(row.at("ids").get<std::vector<int32_t>>(), {}, sample++);
      const Json& label = row.at("label");
      if (label.is_number_integer()) {
        out.labels.classes.push_back(label.get<int32_t>());
      } else {
        for (const Json& target : label) out.labels.targets.push_back(target.get<float>());
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
