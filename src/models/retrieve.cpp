#include "models/retrieve.h"

#include <algorithm>

#include "plan/frame.h"

namespace hone::models {
namespace {

struct Retrieval {
  Value u;
  std::optional<Value> rows;
  int64_t k;
  Retrieved out;
  std::shared_ptr<ConceptSlot> slot;

  void run_gpu(const Frame& frame) const {
    kernels::cuda::ConceptSearch args;
    args.table = slot->table();
    args.texts = frame.rows(u);
    args.width = u.width;
    args.k = k;
    args.u = frame.data<const float>(u);
    if (rows) args.rows = frame.data<const int64_t>(*rows);
    args.found = frame.data<int32_t>(out.found);
    args.similarity = frame.data<float>(out.similarity);
    const GpuFrame& gpu = frame.gpu();
    gpu.check(gpu.api->search_concepts(args, frame.workspace(), gpu.stream));
  }

  void run(const Frame& frame) const {
    const explain::Concepts* concepts = slot->concepts();
    const int64_t texts = frame.rows(u);
    std::vector<explain::Neighbour> neighbours(static_cast<size_t>(texts * k));
    if (concepts) {
      concepts->retrieve(frame.data<const float>(u), texts,
                         rows ? frame.data<const int64_t>(*rows) : nullptr, k, frame.pool(),
                         neighbours);
    }
    auto* found = frame.data<int32_t>(out.found);
    auto* similarity = frame.data<float>(out.similarity);
    for (const explain::Neighbour& neighbour : neighbours) {
      *found++ = neighbour.index;
      *similarity++ = neighbour.index >= 0 ? neighbour.score : 0;
    }
  }
};

}  // namespace

Value concept_vectors(Tape& tape, Value found, int64_t width, std::shared_ptr<ConceptSlot> slot) {
  const Value y = tape.plan().temporary(DType::f32, kNeighbours, width);
  tape.plan().add({"concept_vectors",
                   {found},
                   {y},
                   [=, gpu = tape.gpu(), slot = std::move(slot)](const Frame& frame) {
                     if (gpu) {
                       return frame.gpu().check(frame.gpu().api->concept_vectors(
                           slot->table(), frame.data<const int32_t>(found),
                           frame.rows(found) * found.width, width, frame.data<float>(y),
                           frame.gpu().stream));
                     }
                     const auto* indices = frame.data<const int32_t>(found);
                     auto* vectors = frame.data<float>(y);
                     frame.pool().run(frame.rows(found) * found.width, [&](int64_t place, int) {
                       float* const vector = vectors + place * width;
                       if (indices[place] >= 0) {
                         slot->concepts()->vector(indices[place], vector);
                       } else {
                         std::fill_n(vector, width, 0.0f);
                       }
                     });
                   }});
  return y;
}

Retrieved retrieve(Tape& tape, Value u, std::optional<Value> rows, int64_t k,
                   std::shared_ptr<ConceptSlot> slot) {
  Plan& plan = tape.plan();
  Retrieved out{plan.temporary(DType::i32, u.rows, k), plan.temporary(DType::f32, u.rows, k), {}};
  Step step{"retrieve",
            {u},
            {out.found, out.similarity},
            [op = Retrieval{u, rows, k, out, slot}, gpu = plan.gpu()](const Frame& frame) {
              gpu ? op.run_gpu(frame) : op.run(frame);
            }};
  if (rows) step.reads.push_back(*rows);
  if (plan.gpu()) {
    step.workspace = [u, k](const Extents& extents, int) {
      return kernels::cuda::kernel_api().search_concepts_workspace(extents[u.rows], u.width, k);
    };
  }
  plan.add(std::move(step));
  out.vectors = concept_vectors(tape, out.found, u.width, std::move(slot));
  return out;
}

}  // namespace hone::models
