#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "io/weights.h"
#include "models/adapter.h"
#include "models/model.h"
#include "models/stacked_rows.h"

namespace hone::models {

struct LoadOptions {
  /// Where set, what training may begin with is made new, drawn by this seed: the parts of the head
  /// that the checkpoint lacks, an output layer for another number of labels, and the encoder's
  /// adapters where none are given. Otherwise they are errors.
  std::optional<uint64_t> head_seed = {};
  /// The adapter's own tensors replace the checkpoint's. Its low-rank ones fill the encoder's where
  /// that has them, and are else added into the weights.
  const Adapter* adapter = nullptr;
};

struct LoadReport {
  std::vector<std::string> unexpected;  ///< tensors of the checkpoint that the model does not use
  std::vector<std::string> fresh;       ///< tensors of the head that were made new
  std::vector<bool> added;  ///< by slot: made new, or an adapter's; not in the checkpoint
};

/// Fills the encoder's parameters from a checkpoint, tensor by tensor through a small buffer a
/// thread: no second copy of the weights ever exists. Names are found with and without the
/// family's prefix, and norms also under their old names (gamma, beta). Missing and misshapen
/// weights are listed by name in one error; so is a tensor with a value that is not finite.
LoadReport load_weights(Model& model, const io::Weights& weights, ThreadPool& pool,
                        const LoadOptions& options = {});

/// Gives what load_weights() would report, or its error about names and shapes, without reading a
/// weight: what is to be trained, and the memory for it, can be known before.
LoadReport preview_load(const Model& model, const io::Weights& weights,
                        const LoadOptions& options = {});

/// Says where the rows of each parameter lie, by slot.
struct WeightSources {
  std::vector<StackedRows> rows;
  LoadReport report;
};
/// Finds the rows for a caller that reads them bit by bit; all arguments must outlive the result.
/// There is no `head_seed`, so that every slot has rows.
WeightSources find_sources(const Model& model, const io::Weights& weights, const Adapter* adapter);

/// Ends the name of the count of batches that torch's norms have, which nothing here reads.
inline constexpr const char* kBatchCounter = "num_batches_tracked";

/// Gives today's name of a tensor that an old conversion called gamma or beta; other names as they
/// are.
std::string modern_name(const std::string& name);

/// Says whether the checkpoint, or the adapter, has the family's classification head.
bool has_head_weights(const Family& family, const io::Weights& weights,
                      const Adapter* adapter = nullptr);

/// Finds the tensor of a family's parameter in a checkpoint, under any of the names it may have;
/// null where there is none.
const io::TensorInfo* find_tensor(const Family& family, const io::Weights& weights,
                                  const std::string& name);

}  // namespace hone::models
