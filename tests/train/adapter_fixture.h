#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "models/freeze.h"
#include "optim/schedule.h"
#include "train/family_fixture.h"

/// Adapters beside the families' tiny models, and the batches of their golden histories.
namespace hone::train {

inline constexpr std::array kAdapters = {"lora-bert", "lora-roberta-dense", "lora-distilbert",
                                         "lora-albert-all"};

inline std::string adapted_base(const std::string& name) {
  const std::string file = HONE_TEST_DIR "/goldens/" + name + "/history.json";
  return parse_json(read_file(file), file).at("base");
}

/// An adapter's training: the base frozen, the adapter as it was before the first step.
struct AdapterTraining {
  explicit AdapterTraining(const std::string& name, const Target& target, float dropout = 0)
      : family(adapted_base(name), name) {
    family.drop(dropout);
    const models::Adapter start(family.golden + "/start");
    nn::LoraOptions lora = start.options();
    lora.dropout = dropout;
    family.encoder =
        std::make_unique<models::Encoder>(family.config(), DType::f32, target, true, lora);
    const models::LoadReport report = models::load_weights(
        *family.encoder, *io::Weights::open(family.folder.path), pool, {.adapter = &start});
    trainable = models::trainable_slots(*family.encoder, "", report.added);
    const Json& golden = family.history;
    optimizer = optim::Optimizer::make(family.parameters(), trainable,
                                       optim::OptimizerOptions{.eps = golden.at("epsilon"),
                                                               .weight_decay = golden.at("decay"),
                                                               .max_grad_norm = golden.at("clip")});
  }

  double rate(size_t number) const {
    const Json& golden = family.history;
    const optim::Schedule schedule{optim::ScheduleKind::linear, golden.at("warmup"),
                                   golden.at("steps")};
    return golden.at("rate").get<double>() * schedule.factor(static_cast<int64_t>(number));
  }

  ThreadPool pool{2};
  Family family;
  std::vector<bool> trainable;
  std::unique_ptr<optim::Optimizer> optimizer;
};

}  // namespace hone::train
