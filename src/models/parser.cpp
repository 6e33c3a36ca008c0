#include "models/parser.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "kernels/cpu/chart.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"

namespace hone::models {
namespace {

MakeOptions without_head(MakeOptions options) {
  options.with_head = false;
  return options;
}

}  // namespace

bool is_parser_weight(std::string_view name) {
  return name.size() > kParserModule.size() && name.starts_with(kParserModule) &&
         name[kParserModule.size()] == '.';
}

bool is_parser(const ModelConfig& config) {
  const auto* encoder = dynamic_cast<const EncoderConfig*>(&config);
  return encoder && encoder->parses;
}

void set_parser(bool parses, ModelConfig& config, Json& json) {
  auto* encoder = dynamic_cast<EncoderConfig*>(&config);
  if (!encoder) {
    if (!parses) return;
    fail(ErrorKind::unsupported, "data.task: parse takes an encoder, not a model of type {}",
         quote(config.model_type));
  }
  encoder->parses = parses;
  json.erase(kParserField);
  if (parses) json[kParserField] = true;
}

Parser::Parser(EncoderConfig config, const MakeOptions& options)
    : Encoder(std::move(config), without_head(options)) {
  if (!options.with_head) return;
  scorer_.emplace(parameters_, std::string(kParserModule), this->config().hidden_size,
                  ops::accumulator_dtype(options.dtype));
}

void count_spans(Axes& axes) {
  axes.count(data::kBounds, "bounds", [](const Extents&, const Extents& bucket) {
    return bucket[nn::kTokens] + bucket[nn::kSequences];
  });
  axes.count(data::kCells, "cells", [](const Extents& batch, const Extents&) {
    const auto cells = static_cast<uint64_t>(std::max<int64_t>(256, batch[data::kCells]));
    return static_cast<int64_t>(std::bit_ceil(cells));
  });
}

ops::SpanInputs Parser::begin_spans(Pass& pass, bool pads_sequences) const {
  begin(pass, pads_sequences);
  auto axes = std::make_shared<Axes>(*nn::packed_axes(pads_sequences));
  count_spans(*axes);
  pass.plan->set_axes(std::move(axes));
  const data::BatchLayout& all = layout();
  for (size_t i = pass.inputs.size(); i < all.inputs.size(); ++i) {
    const data::InputSpec& input = all.inputs[i];
    pass.inputs.push_back(pass.plan->input(input.dtype, input.axis, input.width, input.filler));
  }
  return {pass.inputs[data::kOffsets],     pass.inputs[data::kBoundOffsets],
          pass.inputs[data::kCellOffsets], pass.inputs[data::kBefore],
          pass.inputs[data::kBehind],      data::kCells};
}

Value Parser::scores(Tape& tape, Value rows, const ops::SpanInputs& spans) const {
  if (!scorer_) fail(ErrorKind::internal, "scores of a parser without a head");
  const Value converted = ops::convert(tape, rows, ops::accumulator_dtype(rows.dtype));
  tape.plan().set_scope("parser");
  return (*scorer_)(tape, converted, spans);
}

Pass Parser::record(const OutputOptions& request) const {
  if (request.output != Output::logits) return Encoder::record(request);
  Pass forward;
  const ops::SpanInputs spans = begin_spans(forward, true);
  Tape tape(*forward.plan);
  const EncoderInputs in(forward);
  forward.output = scores(tape, hidden(tape, in, false, {.dtype = activations()}), spans);
  forward.plan->keep(forward.output);
  forward.shadows = tape.shadows();
  return forward;
}

Pass Parser::record(const TrainingRequest& request) const {
  Pass step;
  const ops::SpanInputs spans = begin_spans(step, false);
  Tape tape(*step.plan, request.trainable);
  if (request.options.set_gradients) tape.set_gradients();
  const EncoderInputs in(step);
  step.output = scores(tape, hidden(tape, in, false, request.options), spans);
  step.scale = step.plan->input(DType::f64, Axis::one, 2);
  record_losses(tape, request.options.dtype, step, [&] {
    const ops::TreeLossInputs trees{step.output, step.inputs[data::kGold], spans, step.scale};
    step.losses.push_back({"trees", ops::tree_loss(tape, trees)});
  });
  return step;
}

std::vector<Part> Parser::record_parts(const OutputOptions& request) const {
  if (request.output != Output::logits) return Encoder::record_parts(request);
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): its parts are not an encoder's.
  return Model::record_parts(request);
}

namespace {

/// Gives what a thread's charts are computed in.
std::vector<std::byte>& chart_memory() {
  thread_local std::vector<std::byte> memory(kernels::chart_workspace());
  return memory;
}

}  // namespace

double tree_loss(std::span<const float> scores, int64_t words,
                 const std::vector<std::pair<int32_t, int32_t>>& gold) {
  float* const no_marginals = nullptr;
  double loss = kernels::tree_partition(scores.data(), words, no_marginals, chart_memory().data());
  for (const auto& [begin, end] : gold) {
    loss -= scores[static_cast<size_t>(kernels::chart_cell(words, begin, end))];
  }
  return loss;
}

std::vector<trees::Constituent> parse(std::span<const float> scores, int64_t words) {
  std::vector<std::byte>& memory = chart_memory();
  std::vector<float> marginals(scores.size());
  kernels::tree_partition(scores.data(), words, marginals.data(), memory.data());
  std::vector<int32_t> spans(static_cast<size_t>(2 * std::max<int64_t>(words, 1)));
  const int64_t count = kernels::best_tree(marginals.data(), words, kConstituentProbability,
                                           spans.data(), memory.data());
  std::vector<trees::Constituent> found;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    found.push_back({spans[2 * i], spans[2 * i + 1], {}});
  }
  return found;
}

}  // namespace hone::models
