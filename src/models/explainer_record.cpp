// How a self-explaining model's passes are recorded.
#include <algorithm>

#include "base/error.h"
#include "models/embedding_gradient.h"
#include "models/explainer.h"
#include "models/parser.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/pooling.h"

namespace hone::models {

struct Explainer::Inputs {
  explicit Inputs(const Pass& pass)
      : text(pass),
        spans{pass.inputs[data::kOffsets],     pass.inputs[data::kBoundOffsets],
              pass.inputs[data::kCellOffsets], pass.inputs[data::kBefore],
              pass.inputs[data::kBehind],      data::kCells},
        phrases(pass.inputs[data::kPhraseOffsets]),
        known(pass.inputs[data::kPhraseSpans]),
        given(pass.inputs[data::kGiven]) {}

  EncoderInputs text;
  ops::SpanInputs spans;
  Value phrases;
  Value known;
  Value given;
};

struct Explainer::Answer {
  Value logits;
  Value sentence;
  Value phrase_logits;
  Value label, local, global;
  Retrieved retrieved;
  ops::ConceptAttentionValues attention;
  Value shares;
};

void Explainer::begin_explained(Pass& pass, bool pads_sequences) const {
  begin(pass, pads_sequences);
  auto axes = std::make_shared<Axes>(*nn::packed_axes(pads_sequences));
  axes->derived(kNeighbours, "neighbours", [k = settings().neighbours](const Extents& extents) {
    return extents[nn::kReads] * k;
  });
  count_spans(*axes);
  axes->count(data::kPhrases, "phrases",
              [](const Extents&, const Extents& bucket) { return bucket[nn::kTokens]; });
  pass.plan->set_axes(std::move(axes));
  const data::BatchLayout& all = layout();
  for (size_t i = pass.inputs.size(); i < all.inputs.size(); ++i) {
    const data::InputSpec& input = all.inputs[i];
    pass.inputs.push_back(pass.plan->input(input.dtype, input.axis, input.width, input.filler));
  }
}

/// Gives the phrases of each text: those that it came with, else those of its own tree.
Value Explainer::spans_of(Tape& tape, Value rows, const Inputs& in) const {
  tape.plan().set_scope("parser");
  const Value scores = explain_->parser(tape, rows, in.spans);
  return ops::parse_phrases(tape, {scores, in.given, in.phrases, in.known, in.spans},
                            kConstituentProbability);
}

Explainer::Answer Explainer::answer(Tape& tape, Value rows, Value spans, const Inputs& in,
                                    bool is_training, std::optional<Value> found) const {
  Answer out;
  const nn::Packing& packing = in.text.packing;
  const auto linear = [&](const nn::Linear& layer, Value x) {
    return layer(tape, x, {.out = x.dtype});
  };
  tape.plan().set_scope("head");
  const Value read = ops::gather_rows(tape, rows, packing.reads);
  out.sentence = sentence(tape, read, packing, false);
  const bool drops = is_training && drops_before_head();
  out.label = classify(tape, drops ? sentence(tape, read, packing, true) : out.sentence, packing);

  tape.plan().set_scope("phrases");
  const ops::PhraseInputs places{packing.offsets, in.phrases, spans};
  out.phrase_logits = linear(explain_->local, ops::phrase_rows(tape, rows, out.sentence, places));
  out.local = ops::phrase_means(tape, out.phrase_logits, out.sentence.rows, places);

  tape.plan().set_scope("concepts");
  std::optional<Value> samples;
  if (is_training) samples = packing.read_samples;
  if (found) {
    out.retrieved = {*found, {}, concept_vectors(tape, *found, out.sentence.width, slot_)};
  } else {
    out.retrieved = retrieve(tape, out.sentence, samples, settings().neighbours, slot_);
  }
  out.attention = {linear(explain_->query, out.sentence), linear(explain_->key_value, out.sentence),
                   linear(explain_->key_value, out.retrieved.vectors), out.retrieved.found,
                   settings().heads};
  const ops::AttendedConcepts attended = ops::attend_concepts(tape, out.attention);
  out.shares = attended.shares;
  out.global = linear(explain_->global, linear(explain_->context, attended.context));

  const auto factor = [](double weight) { return static_cast<float>(weight); };
  out.logits = ops::add_scaled(tape, out.label, out.local, factor(settings().local_weight));
  out.logits = ops::add_scaled(tape, out.logits, out.global, factor(settings().global_weight));
  return out;
}

Pass Explainer::record_answer(bool with_reasons) const {
  if (!explain_) fail(ErrorKind::internal, "logits of an encoder without a head");
  Pass forward;
  begin_explained(forward, true);
  Plan& plan = *forward.plan;
  Tape tape(plan);
  const Inputs in(forward);
  const Value last = hidden(tape, in.text, false, {.dtype = activations()});
  const Value rows = ops::convert(tape, last, ops::accumulator_dtype(last.dtype));
  const Value spans = spans_of(tape, rows, in);
  const Answer answer = this->answer(tape, rows, spans, in, false);
  forward.output = answer.logits;
  plan.keep(forward.output);
  if (with_reasons) {
    const Value contexts = ops::concept_contexts(tape, answer.attention, answer.shares);
    const Value mixed = explain_->context.without_bias()(tape, contexts, {.out = contexts.dtype});
    const Value given = explain_->global.without_bias()(tape, mixed, {.out = mixed.dtype});
    forward.outputs = {{explained::kSpans, spans},
                       {explained::kPhraseLogits, answer.phrase_logits},
                       {explained::kLabelLogits, answer.label},
                       {explained::kLocalLogits, answer.local},
                       {explained::kGlobalLogits, answer.global},
                       {explained::kFound, answer.retrieved.found},
                       {explained::kSimilarity, answer.retrieved.similarity},
                       {explained::kConceptLogits, given},
                       {explained::kSentence, answer.sentence}};
    for (const NamedValue& each : forward.outputs) plan.keep(each.value);
  }
  forward.shadows = tape.shadows();
  return forward;
}

Pass Explainer::record(const OutputOptions& request) const {
  return request.output == Output::logits ? record_answer(false) : Encoder::record(request);
}

Value explained::value(const Pass& pass, std::string_view name) {
  return std::find_if(pass.outputs.begin(), pass.outputs.end(),
                      [&](const NamedValue& each) { return each.name == name; })
      ->value;
}

Pass Explainer::record_explained() const { return record_answer(true); }

Value Explainer::logits_of_rows(Tape& tape, Value rows, EmbeddingGradient& made) const {
  const Inputs in(made.layers);
  const Value last = through_layers(tape, rows, in.text.packing, false);
  const Value converted = ops::convert(tape, last, ops::accumulator_dtype(last.dtype));
  made.found = tape.plan().input(DType::i32, in.text.packing.reads.rows, settings().neighbours,
                                 Filler::minus_one);
  return answer(tape, converted, in.known, in, false, made.found).logits;
}

Pass Explainer::record_sentences() const {
  Pass forward;
  begin(forward, true);
  Tape tape(*forward.plan);
  const EncoderInputs in(forward);
  const Value last = hidden(tape, in, true, {.dtype = activations()});
  const Value rows = ops::convert(tape, last, ops::accumulator_dtype(last.dtype));
  forward.output = sentence(tape, rows, in.packing, false);
  forward.plan->keep(forward.output);
  forward.shadows = tape.shadows();
  return forward;
}

Pass Explainer::record(const TrainingRequest& request) const {
  if (request.loss.distill.weight > 0) {
    fail(ErrorKind::unsupported, "distill.teacher: not of a self-explaining model");
  }
  Pass step;
  begin_explained(step, false);
  Tape tape(*step.plan, request.trainable);
  if (request.options.set_gradients) tape.set_gradients();
  const Inputs in(step);
  const Value last = hidden(tape, in.text, false, request.options);
  const Value rows = ops::convert(tape, last, ops::accumulator_dtype(last.dtype));
  tape.plan().set_scope("parser");
  const Value scores = explain_->parser(tape, rows, in.spans);
  step.output = answer(tape, rows, in.known, in, true).logits;
  declare_labels(request.loss, nn::kSequences, step);
  record_losses(tape, request.options.dtype, step, [&] {
    const ops::LossInputs inputs = loss_inputs(step.output, request.loss, step);
    step.losses.push_back({"logits", ops::loss(tape, inputs, request.loss)});
    const ops::TreeLossInputs trees{scores, step.inputs[data::kGold], in.spans, step.scale,
                                    in.given};
    step.losses.push_back({"trees", ops::tree_loss(tape, trees, kTreeWeight)});
  });
  return step;
}

}  // namespace hone::models
