#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/records.h"
#include "infer/session.h"

/// What is done with a self-explaining model's concepts and sentences beside answering.
namespace hone::infer {

struct LabelledRows {
  /// Opens the rows, which are read more than once.
  std::function<std::unique_ptr<data::RecordStream>()> open;
  std::vector<std::string> task_labels = {};  ///< a task's label names; none of own files
};

struct BuiltStore {
  int64_t rows = 0;
  int64_t concepts = 0;
  int64_t parsed = 0;  ///< rows whose tree the model made itself
};

/// Makes the concept store of a self-explaining model's folder anew, of these rows: of the trees in
/// `tree_files`, and of the model's own for texts that are not there. `dtype` is that of its
/// vectors: f32, bf16 or u8.
BuiltStore build_store(const std::string& model, const LabelledRows& rows,
                       const std::vector<std::string>& tree_files, const SessionOptions& options,
                       DType dtype = DType::f32);

/// Writes the vectors of the folder's concepts as the model gave them, [concepts, width] in fp32,
/// in NumPy's format. Gives their number.
int64_t export_vectors(const std::string& model, const std::string& path);

/// A training row that may have the wrong label.
struct SuspectRow {
  int64_t row = 0;          ///< counts from 0
  double disagreement = 0;  ///< share of its neighbours, weighed by their nearness, of other labels
  int64_t label = 0;
  int64_t suggested = 0;  ///< the label that most of the neighbours have
  std::string text = {};
};

/// Ranks labelled rows by how much the rows nearest to them disagree with their label; those that
/// nobody contradicts are left out.
std::vector<SuspectRow> find_suspects(const std::string& model, const LabelledRows& rows,
                                      int64_t neighbours, const SessionOptions& options);

}  // namespace hone::infer
