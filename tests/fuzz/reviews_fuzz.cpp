// layers: prep
// An input's first byte chooses the format; the rest are reviews as `hone prep` reads them, and the
// lines between `hone prep map` and `hone prep reduce`. What is read is cleaned, and codes must
// give back the cleaned words, with a dictionary that knows some of them.
#include "fuzz/records_target.h"
#include "fuzz/refusal.h"
#include "prep/dictionary.h"
#include "prep/pipes.h"
#include "prep/stop_words.h"

namespace {

using namespace hone;

void check_text(std::string_view text) {
  static const std::vector<std::string> kStops = prep::stop_words("english");
  static const prep::Dictionary kSome({"film", "great", "caf\u00e9", "incomprehensibilities"},
                                      kStops);
  static const prep::Dictionary kNone({}, kStops);
  prep::CleanText some(kSome);
  prep::CleanText none(kNone);
  some.clean(text);
  none.clean(text);
  if (some.text() != none.text()) std::abort();
  std::string words;
  prep::append_words(kSome, some.codes(), words);
  if (words != some.text()) std::abort();
  // Cleaned words are words: cleaning them changes nothing.
  none.clean(words);
  if (none.text() != words) std::abort();
}

size_t read_all(std::unique_ptr<data::ByteSource> source, data::Format format) {
  size_t sum = 0;
  accepts("fuzz: ", [&] {
    const auto reviews = prep::read_reviews(std::move(source), "fuzz", format, {"t", "l"});
    for (prep::Review review; reviews->next(review);) {
      sum = sum * 31 + std::hash<std::string_view>()(review.text);
      check_text(review.text);
    }
  });
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  constexpr data::Format kFormats[] = {data::Format::jsonl, data::Format::csv, data::Format::tsv};
  const data::Format format = kFormats[data[0] % 3];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t whole = read_all(data::bytes_of_memory(bytes), format);
  const size_t dribbled = read_all(std::make_unique<data::DribblingSource>(bytes), format);
  if (whole != dribbled) std::abort();
  check_text(bytes);
  accepts("fuzz: ", [&] {
    prep::reduce_lines(data::bytes_of_memory(bytes), "fuzz", {}, [](std::string_view line) {
      if (!line.ends_with('\n')) std::abort();
    });
  });
  return 0;
}
