#include "infer/model_facts.h"

#include <algorithm>
#include <vector>

#include "device/cpu_info.h"
#include "io/folder.h"
#include "models/model.h"
#include "models/stored_weights.h"
#include "plan/runner.h"

namespace hone::infer {
namespace {

// These are Trainer's default batch, and run_glue's default length.
constexpr int64_t kTrainingSequences = 8;
constexpr int64_t kTrainingLength = 128;

int64_t count_parameters(const nn::Parameters& parameters) {
  int64_t count = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    count += parameter.weight.rows * parameter.weight.width;
  }
  return count;
}

std::map<std::string, uint64_t> stored_bytes(const models::StoredWeights& stored,
                                             const models::Model& model) {
  std::map<std::string, uint64_t> bytes;
  const auto add = [&](DType dtype, int64_t elements) {
    bytes[std::string(dtype_name(dtype))] += static_cast<uint64_t>(elements) * dtype_size(dtype);
  };
  if (stored.packed) {
    for (const nn::Parameter& each : model.parameters().list()) {
      add(each.weight.dtype, each.weight.rows * each.weight.width);
    }
  } else {
    for (const io::TensorInfo& tensor : stored.checkpoint->tensors()) {
      add(tensor.dtype, tensor.elements);
    }
  }
  return bytes;
}

}  // namespace

ModelFacts model_facts(const std::string& model, std::optional<DType> dtype, int threads) {
  ModelFacts facts;
  facts.folder = models::open_model_folder(io::resolve_model(model));
  const models::ModelConfig& config = *facts.folder.config;
  models::StoredWeights stored = models::open_stored(facts.folder);
  facts.has_head = stored.has_head(models::family_of(config));
  facts.dtype = stored.dtype(config, dtype);
  facts.packed = stored.packed != nullptr;
  const std::string& path = facts.folder.path;
  const auto processor =
      models::family_of(config).open_processor(config, {.path = path, .model = path});
  const auto inferred = models::make_model(
      config, {facts.dtype, Target::of(false), facts.has_head, {}, false, processor.get()});
  if (facts.packed) stored.packed->check(*inferred);
  facts.stored_bytes = stored_bytes(stored, *inferred);
  facts.parameters = count_parameters(inferred->parameters());
  facts.packed_bytes = inferred->parameters().bytes();
  const bool images = inferred->family().samples == data::SampleKind::image;
  facts.max_length = images ? processor->max_units() : config.max_units();

  models::OutputOptions output;
  output.output = facts.has_head ? models::Output::logits : models::Output::embedding;
  const models::Pass forward = inferred->record(output);
  ThreadPool pool(threads > 0 ? threads : usable_cores());
  const auto extents = [&](int64_t samples, int64_t length) {
    return inferred->layout().extents(samples, samples * length, length);
  };
  facts.forward_bytes =
      facts.packed_bytes + Runner(forward.plan, {}, pool).bytes_for(extents(1, facts.max_length));

  if (facts.packed) return facts;
  facts.training_sequences = kTrainingSequences;
  facts.training_length = std::min(kTrainingLength, facts.max_length);
  const auto trained =
      models::make_model(config, {DType::f32, Target::of(false), true, {}, false, processor.get()});
  const models::Pass step =
      trained->record_training({}, std::vector<bool>(trained->parameters().list().size(), true));
  constexpr uint64_t kArrays = 4;  // weights, gradients, two moments
  facts.training_bytes =
      kArrays * trained->parameters().bytes() +
      Runner(step.plan, {}, pool).bytes_for(extents(kTrainingSequences, facts.training_length));
  return facts;
}

}  // namespace hone::infer
