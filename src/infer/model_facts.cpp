#include "infer/model_facts.h"

#include <algorithm>
#include <vector>

#include "device/cpu_info.h"
#include "io/folder.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/stored_weights.h"
#include "plan/execution.h"

namespace hone::infer {
namespace {

// Trainer's default batch, and run_glue's default length.
constexpr int64_t kTrainingSequences = 8;
constexpr int64_t kTrainingLength = 128;

Extents extents_of(const models::EncoderConfig& config, int64_t sequences, int64_t length) {
  models::Batch batch(config);
  const std::vector<int32_t> ids(static_cast<size_t>(length), 0);
  for (int64_t i = 0; i < sequences; ++i) batch.add(ids);
  return batch.extents();
}

int64_t count_parameters(const nn::Parameters& parameters) {
  int64_t count = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    count += parameter.weight.rows * parameter.weight.width;
  }
  return count;
}

std::map<std::string, uint64_t> stored_bytes(const models::StoredWeights& stored,
                                             const models::Encoder& encoder) {
  std::map<std::string, uint64_t> bytes;
  const auto add = [&](DType dtype, int64_t elements) {
    bytes[std::string(dtype_name(dtype))] += static_cast<uint64_t>(elements) * dtype_size(dtype);
  };
  if (stored.packed) {
    for (const nn::Parameter& each : encoder.parameters().list()) {
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
  const models::EncoderConfig& config = facts.folder.config;
  models::StoredWeights stored = models::open_stored(facts.folder);
  facts.has_head = stored.has_head(models::family_of(config));
  facts.dtype = stored.dtype(config, dtype);
  facts.packed = stored.packed != nullptr;
  const models::Encoder encoder(config, facts.dtype, chosen_isa(), facts.has_head);
  if (facts.packed) stored.packed->check(encoder);
  facts.stored_bytes = stored_bytes(stored, encoder);
  facts.parameters = count_parameters(encoder.parameters());
  facts.packed_bytes = encoder.parameters().bytes();
  facts.max_length = config.max_tokens();

  models::OutputOptions output;
  output.output = facts.has_head ? models::Output::logits : models::Output::embedding;
  const models::Forward forward = encoder.record(output);
  ThreadPool pool(threads > 0 ? threads : usable_cores());
  Execution execution(forward.plan, {}, pool);
  execution.resize(extents_of(config, 1, facts.max_length));
  facts.forward_bytes = facts.packed_bytes + execution.arena_bytes();

  if (facts.packed) return facts;
  facts.training_sequences = kTrainingSequences;
  facts.training_length = std::min(kTrainingLength, facts.max_length);
  const Extents batch = extents_of(config, kTrainingSequences, facts.training_length);
  const models::Encoder trained(config, DType::f32, chosen_isa(), true);
  const models::TrainingStep step =
      trained.record_training({}, std::vector<bool>(trained.parameters().list().size(), true));
  constexpr uint64_t kArrays = 4;  // weights, gradients, two moments
  facts.training_bytes =
      kArrays * trained.parameters().bytes() + Execution(step.plan, {}, pool).bytes_for(batch);
  return facts;
}

}  // namespace hone::infer
