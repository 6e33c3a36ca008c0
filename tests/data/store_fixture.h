#pragma once

#include <cstring>

#include "base/thread_pool.h"
#include "data/loader.h"
#include "data/reading.h"
#include "data/reviews.h"
#include "data/sample_store.h"
#include "data/text_processor.h"

namespace hone::data {

/// Small splits, the reviews' tokenizer and a place for stores.
class StoreTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/train.samples"; }

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

  /// A tokenizer.json as a processor that cuts texts to `max_length` tokens. `origin` is the text
  /// that it is said to come from; empty: that json.
  static TextProcessor processor_of(const std::string& json, int64_t max_length = 512,
                                    const std::string& origin = "") {
    text::Tokenizer tokenizer = text::Tokenizer::parse(json, "reviews");
    const TextLimits limits{max_length, tokenizer.id_end(), 2};
    return {std::move(tokenizer),
            {"", {{"tokenizer.json", origin.empty() ? json : origin}}},
            limits,
            max_length,
            "reviews"};
  }
  /// The reviews' tokenizer with a field set to something else.
  static std::string changed_tokenizer(const char* field, const Json& value) {
    Json json = parse_json(reviews_tokenizer_json(), "reviews");
    json[field] = value;
    return json.dump();
  }

  SampleStoreRecipe recipe(const Processor& processor,
                           LabelSet labels = {ProblemType::single_label, {"even", "odd"}}) const {
    return {processor, std::move(labels), {}, -1};
  }
  SampleStoreRecipe recipe() const { return recipe(processor_); }
  SampleStoreRecipe recipe(LabelSet labels) const { return recipe(processor_, std::move(labels)); }
  OpenedStore opened(const Split& split, const SampleStoreRecipe& how) {
    return open_or_build_store(path(), split, how, pool_);
  }
  SampleStore numbered_store(int64_t size) {
    return std::move(opened(numbered(size), recipe()).store);
  }

  TemporaryFolder folder_;
  TextProcessor processor_ = processor_of(reviews_tokenizer_json());
  ThreadPool pool_{2};
};

/// A sample of a store of texts.
struct StoredText {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
};

inline StoredText stored_text(const SampleStore& store, int64_t sample) {
  std::vector<std::byte> bytes;
  store.read(sample, bytes);
  const auto length = static_cast<size_t>(store.lengths()[static_cast<size_t>(sample)]);
  EXPECT_EQ(bytes.size(), length * 5);
  StoredText text{std::vector<int32_t>(length), {}};
  std::memcpy(text.ids.data(), bytes.data(), length * sizeof(int32_t));
  for (size_t i = 4 * length; i < bytes.size(); ++i) {
    text.types.push_back(static_cast<int32_t>(bytes[i]));
  }
  return text;
}

}  // namespace hone::data
