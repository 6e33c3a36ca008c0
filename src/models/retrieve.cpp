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
  std::shared_ptr<const ConceptSlot> slot;

  void run(const Frame& frame) const {
    const explain::Concepts* concepts = slot->concepts.get();
    const int64_t texts = frame.rows(u);
    std::vector<explain::Neighbour> neighbours(static_cast<size_t>(texts * k));
    if (concepts) {
      concepts->retrieve(frame.data<const float>(u), texts,
                         rows ? frame.data<const int64_t>(*rows) : nullptr, k, frame.pool(),
                         neighbours);
    }
    auto* found = frame.data<int32_t>(out.found);
    auto* similarity = frame.data<float>(out.similarity);
    auto* vectors = frame.data<float>(out.vectors);
    frame.pool().run(texts * k, [&](int64_t place, int) {
      const explain::Neighbour& neighbour = neighbours[static_cast<size_t>(place)];
      const bool is_there = neighbour.index >= 0;
      found[place] = neighbour.index;
      similarity[place] = is_there ? neighbour.score : 0;
      float* const vector = vectors + place * u.width;
      if (is_there) {
        concepts->vector(neighbour.index, vector);
      } else {
        std::fill_n(vector, u.width, 0.0f);
      }
    });
  }
};

}  // namespace

Retrieved retrieve(Tape& tape, Value u, std::optional<Value> rows, int64_t k,
                   std::shared_ptr<const ConceptSlot> slot) {
  Plan& plan = tape.plan();
  const Retrieved out{plan.temporary(DType::i32, u.rows, k), plan.temporary(DType::f32, u.rows, k),
                      plan.temporary(DType::f32, kNeighbours, u.width)};
  const Retrieval op{u, rows, k, out, std::move(slot)};
  Step step{"retrieve", {u}, {out.found, out.similarity, out.vectors}, [op](const Frame& frame) {
              op.run(frame);
            }};
  if (rows) step.reads.push_back(*rows);
  plan.add(std::move(step));
  return out;
}

}  // namespace hone::models
