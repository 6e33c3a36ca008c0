#include "data/tree_file.h"

#include <fmt/core.h>

#include "base/error.h"

namespace hone::data {
namespace {

class TreeFileRecords : public RecordStream {
 public:
  explicit TreeFileRecords(TreeFile trees) : trees_(std::move(trees)) {}

  bool next(Record& record) override {
    if (!trees_.next(tree_)) return false;
    record = {tree_.text(), trees::brackets_of(tree_), {}, {}, trees_.row()};
    return true;
  }
  bool waiting() override { return true; }
  std::string where(const Record& record) const override {
    return fmt::format("{}: line {}", trees_.file(), record.row);
  }

 private:
  TreeFile trees_;
  trees::Tree tree_;
};

}  // namespace

bool TreeFile::next(trees::Tree& tree) {
  while (given_ == ready_.size()) {
    ready_.clear();
    given_ = 0;
    std::string_view line;
    if (!lines_.next(line)) {
      if (!reader_.open()) return false;
      fail(ErrorKind::bad_file, "{}: line {}: tree: a bracket is never closed", file(),
           lines_.number());
    }
    const std::string problem = reader_.take(line, ready_);
    if (!problem.empty()) {
      fail(ErrorKind::bad_file, "{}: line {}: tree: {}", file(), lines_.number(), problem);
    }
  }
  tree = std::move(ready_[given_++]);
  row_ = lines_.number();
  return true;
}

TreeFile open_trees(const std::string& path) {
  return TreeFile(LineReader(open_bytes(path), path == "-" ? "standard input" : path));
}

std::shared_ptr<TreeBank> load_trees(const std::vector<std::string>& files) {
  auto bank = std::make_shared<TreeBank>();
  ContentHash hash;
  for (const std::string& path : files) {
    TreeFile trees = open_trees(path);
    const size_t before = bank->index.size();
    for (trees::Tree tree; trees.next(tree);) bank->index.add(std::move(tree));
    if (bank->index.size() == before) fail(ErrorKind::bad_file, "{}: no trees", path);
    hash.file(path);
  }
  bank->hash = hash.value();
  return bank;
}

std::unique_ptr<RecordStream> open_tree_records(const std::string& path) {
  return std::make_unique<TreeFileRecords>(open_trees(path));
}

}  // namespace hone::data
