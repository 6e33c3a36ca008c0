#include "infer/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/available_memory.h"
#include "device/cpu_info.h"
#include "io/folder.h"
#include "models/model.h"
#include "models/stored_weights.h"
#include "plan/runner.h"

namespace hone::infer {
namespace {

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

ModelFacts model_facts(const std::string& model, const FactsOptions& options) {
  ModelFacts facts;
  facts.folder = models::open_model_folder(io::resolve_model(model));
  const models::ModelConfig& config = *facts.folder.config;
  models::StoredWeights stored = models::open_stored(facts.folder);
  facts.has_head = stored.has_head(models::family_of(config));
  facts.dtype = stored.dtype(config, options.dtype);
  facts.packed = stored.packed != nullptr;
  const std::string& path = facts.folder.path;
  const auto processor =
      models::family_of(config).open_processor(config, {.path = path, .model = path});
  const auto inferred = models::make_model(
      config, {facts.dtype, Target::of(options.gpu), facts.has_head, {}, false, processor.get()});
  if (facts.packed) stored.packed->check(*inferred);
  facts.stored_bytes = stored_bytes(stored, *inferred);
  facts.parameters = count_parameters(inferred->parameters());
  facts.packed_bytes = inferred->parameters().bytes();
  const bool images = inferred->family().samples == data::SampleKind::image;
  facts.max_length = images ? processor->max_units() : config.max_units();

  models::OutputOptions output;
  output.output = facts.has_head ? models::Output::logits : models::Output::embedding;
  const models::Pass forward = inferred->record(output);
  ThreadPool pool(options.threads > 0 ? options.threads : usable_cores());
  const auto extents = [&](int64_t samples, int64_t length) {
    return inferred->layout().extents(samples, samples * length, length);
  };
  facts.samples = options.samples;
  facts.length = images ? facts.max_length : std::min(options.length, facts.max_length);
  const Runner answers(forward.plan, {}, pool);
  facts.forward_bytes = facts.packed_bytes + answers.bytes_for(extents(1, facts.max_length));
  facts.predict_bytes =
      facts.packed_bytes + answers.bytes_for(extents(facts.samples, facts.length));
  if (facts.packed) return facts;
  const auto trained = models::make_model(
      config, {DType::f32, Target::of(options.gpu), true, {}, false, processor.get()});
  const nn::Parameters& parameters = trained->parameters();
  models::TrainingOptions how;
  if (facts.dtype == DType::bf16 || facts.dtype == DType::f16) how.dtype = facts.dtype;
  const models::Pass step =
      trained->record_training({}, std::vector<bool>(parameters.list().size(), true), how);
  constexpr uint64_t kArrays = 4;  // weights, gradients, two moments
  facts.train_bytes = kArrays * parameters.bytes() +
                      parameters.shadow_bytes(how.dtype, step.shadows) +
                      Runner(step.plan, {}, pool).bytes_for(extents(facts.samples, facts.length));
  return facts;
}

std::string missing_memory(const std::string& model, const FactsOptions& options) {
  const uint64_t needed = model_facts(model, options).forward_bytes;
  const uint64_t available = available_host_memory();
  if (needed <= available) return "";
  return fmt::format("needs {} MB of memory, but {} MB are free", needed >> 20, available >> 20);
}

}  // namespace hone::infer
