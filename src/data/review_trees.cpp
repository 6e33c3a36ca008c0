#include "data/review_trees.h"

#include "base/error.h"
#include "data/reviews.h"

namespace hone::data {

std::shared_ptr<TreeBank> review_trees(const std::string& split, int64_t most) {
  auto bank = std::make_shared<TreeBank>();
  ContentHash hash;
  const ReviewOptions options;
  const auto records = open_reviews(options, split);
  Record record;
  while (most-- != 0 && records->next(record)) {
    const std::string brackets =
        make_review(options.seed, static_cast<uint64_t>(record.row) - 1).brackets();
    trees::BracketReader reader;
    std::vector<trees::Tree> trees;
    if (!reader.take(brackets, trees).empty() || trees.size() != 1) {
      fail(ErrorKind::internal, "no tree of a review: {}", quote(brackets));
    }
    hash.text(brackets);
    bank->index.add(std::move(trees.front()));
  }
  bank->hash = hash.value();
  return bank;
}

}  // namespace hone::data
