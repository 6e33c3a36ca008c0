#pragma once

#include "data/entry_store.h"
#include "data/records.h"

namespace hone::data {

/// The entries of a store as records: ids in place of texts, and labels as `hone prep` read them.
class EntryRecords : public RecordStream {
 public:
  /// `path` is as EntryStore takes it. With `need_label` an entry without a label is an error.
  EntryRecords(const std::string& path, bool need_label);

  bool next(Record& record) override;
  bool waiting() override { return true; }
  /// The ids must be those of the processor's vocabulary, or of its tokenizer.
  void check_ids(const Processor& processor) const override;
  std::string where(const Record& record) const override;

  const EntryStore& store() const { return store_; }

 private:
  const std::string path_;
  const EntryStore store_;
  const bool need_label_;
  Entries block_;
  int64_t first_ = 0;  ///< the row that block_ begins with
  int64_t next_ = 0;
};

}  // namespace hone::data
