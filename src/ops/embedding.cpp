#include "ops/embedding.h"

#include "kernels/cpu/embedding.h"
#include "kernels/cpu/embedding_backward.h"
#include "kernels/cpu/layer_norm_train.h"
#include "kernels/cpu/rows.h"
#include "ops/by_dtype.h"
#include "ops/convert.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Embedding {
  EmbeddingIds ids;
  EmbeddingWeights weights;

  kernels::EmbeddingIds rows(const Frame& frame) const {
    return {frame.data<const int32_t>(ids.word),
            weights.type.present() ? frame.data<const int32_t>(ids.type) : nullptr,
            weights.position.present() ? frame.data<const int32_t>(ids.position) : nullptr};
  }
  template <typename Table>
  kernels::EmbeddingTables<Table> tables(const Frame& frame) const {
    return {frame.weight<Table>(weights.word), frame.weight<Table>(weights.type),
            frame.weight<Table>(weights.position), weights.word.width};
  }
  template <typename T>
  kernels::NormWeightsOf<kernels::Accumulator<T>> norm(const Frame& frame) const {
    using Parameter = kernels::Accumulator<T>;
    return {frame.weight<Parameter>(weights.norm.weight),
            frame.weight<Parameter>(weights.norm.bias), weights.norm.eps};
  }
  /// Lists the ids of the tables that there are.
  std::vector<Value> reads() const {
    std::vector<Value> values;
    for (const TableRows& rows : tables_read(ids, weights)) values.push_back(rows.indices);
    return values;
  }

  static kernels::Int8Table int8_table(const Frame& frame, const Weight& weight) {
    if (!weight.present()) return {};
    return kernels::int8_table(frame.weight(weight), weight.rows, weight.width);
  }
  void infer_int8(const Frame& frame, Value y) const {
    const kernels::Int8Tables int8{int8_table(frame, weights.word), int8_table(frame, weights.type),
                                   int8_table(frame, weights.position), weights.word.width};
    by_float(y.dtype, [&]<typename Out>(Out) {
      kernels::embed_and_normalize<Out>(int8, rows(frame), frame.rows(y), norm<float>(frame),
                                        frame.data<Out>(y), frame.pool());
    });
  }

  void infer(Plan& plan, Value y) const {
    Step step{"embedding", reads(), {y}, [op = *this, y](const Frame& frame) {
                if (op.weights.word.dtype == DType::i8) return op.infer_int8(frame, y);
                by_float(op.weights.word.dtype, [&]<typename Table>(Table) {
                  by_float(y.dtype, [&]<typename Out>(Out) {
                    kernels::embed_and_normalize<Table, Out>(
                        op.tables<Table>(frame), op.rows(frame), frame.rows(y),
                        op.norm<float>(frame), frame.data<Out>(y), {}, frame.pool());
                  });
                });
              }};
    step.weights = {weights.norm.weight, weights.norm.bias};
    step.tables = tables_read(ids, weights);
    plan.add(std::move(step));
  }

  /// Emits the forward pass of training; gives y.
  Value train(Plan& plan, const NormalizedRows& kept) const {
    // fp16's xhat is rounded behind the step, and y has to be made of the rounded one.
    const bool apart = kept.xhat.dtype == DType::f16;
    const Value y = plan.temporary(kept.xhat.dtype, kept.xhat.rows, apart ? 0 : kept.xhat.width);
    const auto run = [op = *this, y, kept, apart](const Frame& frame) {
      by_dtype(y.dtype, [&]<typename T>(T) {
        op.train_rows<T>(frame, kept, apart ? nullptr : frame.data<T>(y));
      });
    };
    Step step{"embedding", reads(), {y, kept.xhat, kept.rstd}, run};
    step.weights = {weights.norm.weight, weights.norm.bias};
    step.tables = tables_read(ids, weights);
    plan.add(std::move(step));
    return apart ? norm_affine(plan, kept.xhat, weights.norm) : y;
  }

  template <typename T>
  void train_rows(const Frame& frame, const NormalizedRows& kept, T* y) const {
    const auto run = [&]<typename Table>(Table) {
      kernels::embed_and_normalize_train<Table, T>(
          tables<Table>(frame), rows(frame), frame.rows(kept.xhat), norm<T>(frame),
          {frame.data<T>(kept.xhat), frame.data<kernels::Accumulator<T>>(kept.rstd)}, y,
          frame.pool());
    };
    if constexpr (std::is_same_v<T, double>) {
      run(double{});
    } else {
      by_float(weights.word.dtype, run);
    }
  }
};

/// Says which rows of a table have a gradient; `touched` may be null.
void mark_rows(const int32_t* ids, int64_t count, int64_t padding, uint8_t* touched) {
  for (int64_t i = 0; touched && i < count; ++i) {
    if (ids[i] != padding) touched[ids[i]] = 1;
  }
}

void emit_table_gradient(Tape& tape, Value dsum, Value ids, const Weight& table,
                         int64_t padding = -1) {
  if (!tape.trainable(table)) return;
  Step step{"embedding_backward", {dsum, ids}, {}, [=](const Frame& frame) {
              by_dtype(dsum.dtype, [&]<typename T>(T) {
                kernels::embedding_backward<T>(
                    frame.data<const T>(dsum), frame.data<const int32_t>(ids), frame.rows(dsum),
                    dsum.width, static_cast<kernels::Accumulator<T>*>(frame.gradient(table)),
                    frame.workspace(), frame.pool(), padding);
              });
              mark_rows(frame.data<const int32_t>(ids), frame.rows(dsum), padding,
                        frame.touched(table));
            }};
  step.workspace = [dsum](const Extents& e, int) {
    return kernels::embedding_backward_workspace(e[dsum.rows]);
  };
  step.gradients = {table};
  step.touches = {{table, ids}};
  tape.plan().add(std::move(step));
}

Value embed(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out) {
  Plan& plan = tape.plan();
  const Embedding op{ids, weights};
  if (!tape.training()) {
    const Value y = plan.temporary(out, ids.word.rows, weights.word.width);
    op.infer(plan, y);
    return y;
  }
  const NormalizedRows kept{plan.temporary(out, ids.word.rows, weights.word.width),
                            plan.temporary(accumulator_dtype(out), ids.word.rows, 1)};
  const Value y = op.train(plan, kept);
  const bool trains = tape.trainable(weights.word) || tape.trainable(weights.position) ||
                      tape.trainable(weights.type) || tape.trainable(weights.norm.weight) ||
                      tape.trainable(weights.norm.bias);
  if (!trains) return y;
  tape.recompute(
      y, [&tape, kept, weights] { return norm_affine(tape.plan(), kept.xhat, weights.norm); });
  tape.on_backward(y, [&tape, y, kept, op] {
    const Value dsum = norm_backward(tape, *tape.gradient(y), kept, op.weights.norm, {}).sum;
    emit_table_gradient(tape, dsum, op.ids.word, op.weights.word, op.weights.word_padding);
    emit_table_gradient(tape, dsum, op.ids.position, op.weights.position,
                        op.weights.position_padding);
    emit_table_gradient(tape, dsum, op.ids.type, op.weights.type);
  });
  return y;
}

/// Emits table[ids] in the table's own dtype.
Value emit_rows(Plan& plan, Value ids, const Weight& table) {
  const Value y = plan.temporary(table.dtype, ids.rows, table.width);
  Step step{"embedding", {ids}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              const auto* rows = frame.data<const int32_t>(ids);
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->gather_rows(
                    table.dtype, frame.weight(table), table.width, rows, frame.rows(y), table.width,
                    frame.data<void>(y), frame.gpu().stream));
              }
              const auto bytes = table.width * static_cast<int64_t>(dtype_size(table.dtype));
              kernels::gather_rows(frame.weight(table), bytes, rows, frame.rows(y), bytes,
                                   frame.data<void>(y), frame.pool());
            }};
  step.tables = {{table, ids}};
  plan.add(std::move(step));
  return y;
}

}  // namespace

std::vector<TableRows> tables_read(const EmbeddingIds& ids, const EmbeddingWeights& weights) {
  std::vector<TableRows> tables = {{weights.word, ids.word}};
  if (weights.position.present()) tables.push_back({weights.position, ids.position});
  if (weights.type.present()) tables.push_back({weights.type, ids.type});
  return tables;
}

Value embed_tokens(Tape& tape, const EmbeddingIds& ids, const EmbeddingWeights& weights, DType out,
                   const DropoutSite& drop) {
  if (tape.gpu()) return gpu::embed_tokens(tape, ids, weights, out, drop);
  return dropout(tape, embed(tape, ids, weights, out), drop);
}

Value embed_words(Tape& tape, Value ids, const Weight& table, int64_t padding, DType out) {
  const Value y = emit_rows(tape.plan(), ids, tape.gpu() ? tape.in_dtype(table, out) : table);
  if (tape.trainable(table)) {
    tape.on_backward(y, [&tape, y, ids, table, padding] {
      const Value dy = *tape.gradient(y);
      EmbeddingWeights weights{};
      weights.word = table;
      weights.word_padding = padding;
      if (tape.gpu()) return gpu::table_gradients(tape, dy, {ids, {}, {}}, weights);
      emit_table_gradient(tape, dy, ids, table, padding);
    });
  }
  return convert(tape, y, out);
}

}  // namespace hone::ops
