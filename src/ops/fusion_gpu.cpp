#include "ops/fusion_gpu.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "plan/frame.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

struct Fusion : Annotation {
  FusedBackward emit;
};

struct Rematerialization : Annotation {
  struct Reader {
    std::string scope;
    std::function<void(Value)> emit;
  };
  bool possible = false;
  std::vector<Reader> readers;  ///< readers that wait for the value

  void continue_from(Annotation& old) override {
    readers = std::move(static_cast<Rematerialization&>(old).readers);
  }
};

/// Lists all values that anyone waited for, so that the end of the backward pass can look.
struct Awaited : Annotation {
  std::vector<Value> values;
};

struct RowSumsToCome : Annotation {
  struct Part {
    Value partials;
    std::shared_ptr<cuda::RowSums> sums;
    std::vector<Weight> weights;
  };
  std::vector<Part> parts;
  bool finishes = false;  ///< whether the end of the backward pass is told
};

void add_in_launches(const Frame& frame, const std::vector<std::shared_ptr<cuda::RowSums>>& list) {
  const GpuFrame& gpu = frame.gpu();
  std::vector<cuda::RowSums> some;
  const auto add = [&] {
    gpu.check(gpu.api->add_row_sums(some.data(), static_cast<int64_t>(some.size()), gpu.stream));
    some.clear();
  };
  // Layers that share weights add to the same sums, and those of one launch may not overlap.
  std::set<const float*> outs;
  for (const auto& sums : list) {
    const auto taken = [&](const float* out) { return out && !outs.insert(out).second; };
    if (std::any_of(std::begin(sums->outs), std::end(sums->outs), taken)) {
      add();
      outs = {std::begin(sums->outs), std::end(sums->outs)};
    }
    some.push_back(*sums);
  }
  add();
}

void emit_row_sums(Plan& plan, RowSumsToCome& pending) {
  if (pending.parts.empty()) return;
  Step step{"add_row_sums", {}, {}, {}};
  std::vector<std::shared_ptr<cuda::RowSums>> list;
  for (const RowSumsToCome::Part& part : pending.parts) {
    step.reads.push_back(part.partials);
    step.gradients.insert(step.gradients.end(), part.weights.begin(), part.weights.end());
    list.push_back(part.sums);
  }
  step.run = [list = std::move(list)](const Frame& frame) { add_in_launches(frame, list); };
  plan.add(std::move(step));
  pending.parts.clear();
}

}  // namespace

void set_fused_backward(Tape& tape, Value y, FusedBackward emit) {
  tape.annotate<Fusion>(y).emit = std::move(emit);
}

FusedBackward fused_backward(Tape& tape, Value y) {
  const Fusion* fusion = tape.annotation<Fusion>(y);
  if (!fusion) return {};
  const auto reads = [&](const Step& step) {
    return std::any_of(step.reads.begin(), step.reads.end(),
                       [&](Value value) { return value.id == y.id; });
  };
  const std::vector<Step>& steps = tape.plan().steps();
  return std::count_if(steps.begin(), steps.end(), reads) == 1 ? fusion->emit : FusedBackward();
}

void set_rematerializable(Tape& tape, Value y) {
  tape.annotate<Rematerialization>(y).possible = true;
}

void with_saved(Tape& tape, Value x, std::function<void(Value)> emit) {
  Rematerialization* again = tape.annotation<Rematerialization>(x);
  if (!again || !again->possible) return emit(tape.saved(x));
  Awaited& awaited = tape.shared<Awaited>();
  if (awaited.values.empty()) {
    tape.at_end([&tape] {
      for (const Value& value : tape.shared<Awaited>().values) {
        if (must_rematerialize(tape, value)) {
          fail(ErrorKind::internal, "a value that was not made again");
        }
      }
    });
  }
  awaited.values.push_back(x);
  again->readers.push_back({tape.plan().scope(), std::move(emit)});
}

bool must_rematerialize(Tape& tape, Value y) {
  const Rematerialization* again = tape.annotation<Rematerialization>(y);
  return again && !again->readers.empty();
}

void rematerialized(Tape& tape, Value y, Value copy) {
  const std::string scope = tape.plan().scope();
  const auto readers = std::move(tape.annotate<Rematerialization>(y).readers);
  tape.annotate<Rematerialization>(y).readers.clear();
  for (const Rematerialization::Reader& reader : readers) {
    tape.plan().set_scope(reader.scope);
    reader.emit(copy);
  }
  tape.plan().set_scope(scope);
}

void add_row_sums(Tape& tape, Value partials, std::shared_ptr<cuda::RowSums> sums,
                  std::vector<Weight> weights) {
  constexpr size_t kTogether = 24;  // parts of a few layers, which are held until they are added up
  auto& pending = tape.shared<RowSumsToCome>();
  if (!pending.finishes) {
    tape.at_end([&tape] { emit_row_sums(tape.plan(), tape.shared<RowSumsToCome>()); });
    pending.finishes = true;
  }
  pending.parts.push_back({partials, std::move(sums), std::move(weights)});
  if (pending.parts.size() == kTogether) emit_row_sums(tape.plan(), pending);
}

}  // namespace hone::ops::gpu
