#include "ops/concept_attention.h"

#include "kernels/cpu/concept_attention.h"
#include "ops/accumulate.h"
#include "ops/by_head_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

kernels::ConceptAttentionSizes sizes_of(const Frame& frame, const ConceptAttentionValues& in) {
  return {frame.rows(in.query), in.found.width, in.query.width, in.heads};
}

template <typename T>
kernels::ConceptAttentionInputs<T> inputs_of(const Frame& frame, const ConceptAttentionValues& in) {
  return {frame.data<const T>(in.query), frame.data<const T>(in.own),
          frame.data<const T>(in.retrieved), frame.data<const int32_t>(in.found)};
}

/// Gives sizes and what all kernels read.
kernels::cuda::ConceptAttention on_gpu(const Frame& frame, const ConceptAttentionValues& in,
                                       int64_t texts) {
  kernels::cuda::ConceptAttention args;
  args.texts = texts;
  args.neighbours = in.found.width;
  args.width = in.query.width;
  args.heads = in.heads;
  args.retrieved = frame.data<const float>(in.retrieved);
  args.found = frame.data<const int32_t>(in.found);
  return args;
}

kernels::cuda::ConceptAttention all_on_gpu(const Frame& frame, const ConceptAttentionValues& in) {
  kernels::cuda::ConceptAttention args = on_gpu(frame, in, frame.rows(in.query));
  args.query = frame.data<const float>(in.query);
  args.own = frame.data<const float>(in.own);
  return args;
}

/// Emits the gradients of query, own and retrieved, in this order.
std::vector<Value> emit_backward(Plan& plan, Value dy, Value shares,
                                 const ConceptAttentionValues& in) {
  std::vector<Value> gradients;
  for (const Value& value : {in.query, in.own, in.retrieved}) {
    gradients.push_back(plan.temporary(value.dtype, value.rows, value.width));
  }
  plan.add({"concept_attention_backward",
            {dy, shares, in.query, in.own, in.retrieved, in.found},
            gradients,
            [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->concept_attention_backward(
                    all_on_gpu(frame, in),
                    {frame.data<const float>(dy), frame.data<const float>(shares),
                     frame.data<float>(gradients[0]), frame.data<float>(gradients[1]),
                     frame.data<float>(gradients[2])},
                    frame.gpu().stream));
              }
              by_head_dtype(in.query.dtype, [&]<typename T>(T) {
                kernels::concept_attention_backward<T>(
                    frame.data<const T>(dy), frame.data<const T>(shares), inputs_of<T>(frame, in),
                    sizes_of(frame, in), frame.data<T>(gradients[0]), frame.data<T>(gradients[1]),
                    frame.data<T>(gradients[2]), frame.pool());
              });
            }});
  return gradients;
}

}  // namespace

AttendedConcepts attend_concepts(Tape& tape, const ConceptAttentionValues& in) {
  Plan& plan = tape.plan();
  const Value& query = in.query;
  const Value y = plan.temporary(query.dtype, query.rows, query.width);
  const Value shares = plan.temporary(query.dtype, query.rows, in.heads * (in.found.width + 1));
  plan.add({"concept_attention",
            {query, in.own, in.retrieved, in.found},
            {y, shares},
            [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->concept_attention(
                    all_on_gpu(frame, in), frame.data<float>(y), frame.data<float>(shares),
                    frame.gpu().stream));
              }
              by_head_dtype(in.query.dtype, [&]<typename T>(T) {
                kernels::concept_attention<T>(inputs_of<T>(frame, in), sizes_of(frame, in),
                                              frame.data<T>(y), frame.data<T>(shares),
                                              frame.pool());
              });
            }});
  const bool needed = tape.needs_gradient(query) || tape.needs_gradient(in.own) ||
                      tape.needs_gradient(in.retrieved);
  if (!needed) return {y, shares};
  tape.on_backward(y, [&tape, in, y, shares] {
    const ConceptAttentionValues saved = {tape.saved(in.query), tape.saved(in.own),
                                          tape.saved(in.retrieved), in.found, in.heads};
    const std::vector<Value> gradients =
        emit_backward(tape.plan(), *tape.gradient(y), shares, saved);
    accumulate(tape, in.query, gradients[0]);
    accumulate(tape, in.own, gradients[1]);
    accumulate(tape, in.retrieved, gradients[2]);
  });
  return {y, shares};
}

Value concept_contexts(Tape& tape, const ConceptAttentionValues& in, Value shares) {
  const Value y = tape.plan().temporary(DType::f32, in.retrieved.rows, in.query.width);
  tape.plan().add({"concept_contexts",
                   {in.retrieved, shares, in.found},
                   {y},
                   [=, gpu = tape.gpu()](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->concept_contexts(
                           on_gpu(frame, in, frame.rows(shares)), frame.data<const float>(shares),
                           frame.data<float>(y), frame.gpu().stream));
                     }
                     kernels::concept_contexts(
                         frame.data<const float>(in.retrieved), frame.data<const float>(shares),
                         frame.data<const int32_t>(in.found),
                         {frame.rows(shares), in.found.width, in.query.width, in.heads},
                         frame.data<float>(y), frame.pool());
                   }});
  return y;
}

}  // namespace hone::ops
