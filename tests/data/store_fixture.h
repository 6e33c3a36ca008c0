#pragma once

#include "base/thread_pool.h"
#include "data/reading.h"
#include "data/reviews.h"
#include "data/token_store.h"

namespace hone::data {

/// Small splits, the reviews' tokenizer and a place for stores.
class StoreTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/train.tokens"; }

  Split csv(std::string_view rows) {
    return file_split(folder_.write("data.csv", std::string("text,label\n") + std::string(rows)),
                      true);
  }
  /// `size` samples of 3 to 9 tokens, with their number as their label's parity.
  Split numbered(int64_t size) {
    std::string rows;
    for (int64_t i = 0; i < size; ++i) {
      std::string text = "film";
      for (int64_t k = 0; k < i % 7; ++k) text += k % 2 ? " good" : " plot";
      rows += text + (i % 2 ? ",odd\n" : ",even\n");
    }
    return csv(rows);
  }

  TokenStoreRecipe recipe(LabelSet labels = {LabelKind::classes, {"even", "odd"}}) {
    return {tokenizer_, {1, 2}, {}, std::move(labels), {}, -1};
  }
  OpenedStore opened(const Split& split, const TokenStoreRecipe& how) {
    return open_or_build_store(path(), split, how, pool_);
  }
  TokenStore numbered_store(int64_t size) {
    return std::move(opened(numbered(size), recipe()).store);
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_ = text::Tokenizer::parse(reviews_tokenizer_json(), "reviews");
  ThreadPool pool_{2};
};

}  // namespace hone::data
