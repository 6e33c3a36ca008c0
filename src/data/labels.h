#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.h"

namespace hone::data {

/// Gives a name in lower case, without '_', '-' and spaces: "Not_Entailment" and "not entailment"
/// are one label.
std::string normal_label(std::string_view name);

/// Maps the labels of a data set to a model's ids.
class LabelMap {
 public:
  /// `task_labels`: the data's names in id order (a Task's; none for own files).
  /// `model_labels`: id2label in id order. Names "LABEL_0" or "0" do not count as names.
  /// Both sides named: matched by name, since the order differs between models (MNLI). The
  /// model's side without names, or no name in common and as many labels: by id. Some names in
  /// common but not all: an error, which names `config`, the file of id2label.
  LabelMap(std::vector<std::string> task_labels, std::vector<std::string> model_labels,
           const std::string& config = "config.json");

  /// Gives the model's id for the label of a record: a name, or a decimal id (the data's). Errors
  /// name file, line and value; no label is an error too.
  int64_t id(const Record& record, const RecordStream& stream) const;

  /// Says of multi-label data for each of the model's labels whether it applies. A list as long as
  /// the model's labels that holds only 0 and 1 is read as that; any other as names or ids.
  std::vector<bool> ids(const Record& record, const RecordStream& stream) const;

  /// Says whether names were matched; if not, ids are assumed to mean the same on both sides.
  bool by_name() const { return by_name_; }

 private:
  int64_t find(std::string_view label) const;
  [[noreturn]] void unknown(std::string_view label, const std::string& where) const;

  std::vector<std::string> model_labels_;
  std::vector<std::string> model_keys_;  ///< normal_label of the model's names
  std::vector<std::string> task_keys_;
  std::vector<int64_t> to_model_;  ///< by the data's id; empty for own files
  bool by_name_ = false;
};

/// Reads the score of a regression record; anything but a finite number is an error.
double score_of(const Record& record, const RecordStream& stream);

}  // namespace hone::data
