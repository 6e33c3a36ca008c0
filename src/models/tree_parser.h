#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "models/folder.h"
#include "models/parser.h"
#include "plan/runner.h"

namespace hone::models {

/// A text's words and the constituents over them, found by a parser.
struct ParsedText {
  std::vector<trees::WordPlace> words;           ///< code points of the text
  std::vector<trees::Constituent> constituents;  ///< lie in the order that a trees::Tree has
  /// A text that is longer than the model or its chart takes is parsed in parts, cut at the ends
  /// of sentences where there are some; each part of two words or more is a constituent.
  int64_t parts = 0;
  int64_t tokens = 0;  ///< tokens that the model read, special ones too
};

/// A parser's folder, ready to parse. One call at a time; each uses the pool's threads. On a GPU
/// spans are scored there and their scores, four bytes each, fetched: trees are made of them by the
/// host. On the processor a text's trees have the same bits in any company.
class TreeParser {
 public:
  /// The pool must outlive this. `max_length` tokens are most; 0: as the folder says.
  TreeParser(const std::string& folder, ThreadPool& pool, int64_t max_length = 0,
             std::optional<DType> dtype = {}, bool gpu = false);

  std::vector<ParsedText> parse(std::span<const std::string_view> texts);

  /// Takes what the model gives for a sample: the scores of its spans. The sample dies with the
  /// call.
  using Take =
      FunctionRef<void(size_t i, const data::EncodedSample& sample, std::span<const float> scores)>;
  /// Scores samples as they are, in their order; what is too long is cut.
  void score(std::span<const data::RawSample> samples, Take take);

  const data::ParseProcessor& processor() const { return *processor_; }
  const Model& model() const { return *model_; }

 private:
  struct Part;
  void find_parts(std::string_view text, size_t number, ParsedText& out,
                  std::vector<Part>& parts) const;

  ThreadPool& pool_;
  ModelFolder folder_;
  std::unique_ptr<data::ParseProcessor> processor_;
  std::unique_ptr<Model> model_;
  Pass pass_;
  std::unique_ptr<Runner> runner_;
};

/// Says whether a folder's model is a parser.
bool is_parser_folder(const std::string& model);

/// A stored sample's tree beside the one that its scores give.
struct ComparedTrees {
  std::vector<std::pair<int32_t, int32_t>> found;  ///< constituents over its leaves, no whole
  std::vector<std::pair<int32_t, int32_t>> gold;
  double loss = 0;
};

/// Compares the two. Scores that are not finite are an error.
ComparedTrees compare_trees(std::span<const std::byte> sample, std::span<const float> scores);

}  // namespace hone::models
