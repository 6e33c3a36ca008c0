#include "device/cuda.h"
#include "ops/norm_gpu.h"

namespace hone::ops::gpu {

namespace cuda = kernels::cuda;

void table_gradients(Tape& tape, Value dsum, const EmbeddingIds& ids,
                     const EmbeddingWeights& weights) {
  const bool trains = tape.trainable(weights.word) || tape.trainable(weights.position) ||
                      tape.trainable(weights.type);
  if (!trains) return;
  Step step{"embedding_backward", {dsum}, {}, {}};
  for (const TableRows& rows : tables_read(ids, weights)) {
    step.reads.push_back(rows.indices);
    if (!tape.trainable(rows.table)) continue;
    step.gradients.push_back(rows.table);
    step.touches.push_back(rows);
    if (cuda::marks_rows(rows.table.width) && tape.sets_gradient(rows.table)) {
      step.sets.push_back(rows.table);
    }
  }
  step.run = [=](const Frame& frame) {
    const GpuFrame& gpu = frame.gpu();
    const auto table = [&](Value rows, const Weight& weight) {
      cuda::EmbeddingGradient gradient;
      if (!weight.present()) return gradient;
      gradient.dtable = static_cast<float*>(frame.gradient(weight));
      gradient.ids = frame.data<const int32_t>(rows);
      if (gradient.dtable) gradient.touched = frame.touched(weight);
      return gradient;
    };
    cuda::EmbeddingBackward args;
    args.dtype = dsum.dtype;
    args.tokens = frame.rows(dsum);
    args.width = dsum.width;
    args.dsum = frame.data<const void>(dsum);
    args.tables[0] = table(ids.word, weights.word);
    args.tables[1] = table(ids.position, weights.position);
    args.tables[2] = table(ids.type, weights.type);
    gpu.check(gpu.api->embedding_backward(args, frame.workspace(), gpu.stream));
    // Rows of padding tokens learn nothing.
    const auto clear = [&](const Weight& weight, int64_t row) {
      auto* gradient = static_cast<float*>(frame.gradient(weight));
      if (!gradient || row < 0) return;
      const auto width = static_cast<size_t>(weight.width);
      gpu.check(cuda_api().fill(gradient + static_cast<size_t>(row) * width, 0,
                                width * sizeof(float), gpu.stream));
    };
    clear(weights.word, weights.word_padding);
    clear(weights.position, weights.position_padding);
  };
  step.workspace = [dsum](const Extents& e, int) {
    return cuda::kernel_api().embedding_backward_workspace(e[dsum.rows], dsum.width);
  };
  tape.plan().add(std::move(step));
}

Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& dropout) {
  Plan& plan = tape.plan();
  const Value y = plan.temporary(out, ids.word.rows, weights.word.width);
  const std::optional<NormKept> kept = norm_kept(tape, y);
  const Weight word = tape.in_dtype(weights.word, out);
  const Weight position = tape.in_dtype(weights.position, out);
  const Weight type = tape.in_dtype(weights.type, out);
  Step step{
      "embedding", {}, {y}, [=](const Frame& frame) {
        cuda::EmbeddingForward tables;
        tables.table_dtype = word.dtype;
        tables.word = frame.weight(word);
        tables.type = frame.weight(type);
        tables.position = frame.weight(position);
        tables.word_ids = frame.data<const int32_t>(ids.word);
        if (type.present()) tables.type_ids = frame.data<const int32_t>(ids.type);
        if (position.present()) tables.position_ids = frame.data<const int32_t>(ids.position);
        cuda::NormForward args = norm_forward(frame, weights.norm, y, kept);
        if (kept) args.output_dropout = dropout_at(frame, dropout);
        frame.gpu().check(frame.gpu().api->embed_and_normalize(tables, args, frame.gpu().stream));
      }};
  EmbeddingWeights read = weights;
  read.word = word;
  read.position = position;
  read.type = type;
  step.tables = tables_read(ids, read);
  for (const TableRows& rows : step.tables) step.reads.push_back(rows.indices);
  step.weights = {weights.norm.weight, weights.norm.bias};
  if (kept) {
    step.writes.insert(step.writes.end(), {kept->xhat, kept->rstd});
    dropout.add_reads(step.reads);
  }
  plan.add(std::move(step));
  const bool trains = tape.trainable(weights.word) || tape.trainable(weights.position) ||
                      tape.trainable(weights.type) || tape.trainable(weights.norm.weight) ||
                      tape.trainable(weights.norm.bias);
  if (!trains) return y;
  tape.on_backward(
      y, [&tape, y, ids, weights, op = NormBackward{weights.norm, *kept, {}, {}, dropout}] {
        const Value dsum = op.emit(tape, *tape.gradient(y)).first;
        table_gradients(tape, dsum, ids, weights);
      });
  return y;
}

}  // namespace hone::ops::gpu
