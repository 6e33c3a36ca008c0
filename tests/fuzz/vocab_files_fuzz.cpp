// layers: text
#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"
#include "fuzz/tokenizer_checks.h"

namespace {

struct Layout {
  const char* family;
  std::vector<const char*> files;
};

const std::vector<Layout> kLayouts = {{"bert", {"vocab.txt"}},
                                      {"roberta", {"vocab.json", "merges.txt"}},
                                      {"xlm-roberta", {"sentencepiece.bpe.model"}},
                                      {"albert", {"spiece.model"}},
                                      {"lstm", {"vocabulary.txt"}}};

}  // namespace

/// The first byte, '0' to '4', chooses a layout, tokenizer_config.json follows, then the layout's
/// files, with a zero byte between two.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hone::ScratchFolder folder;
  if (size == 0) return 0;
  const Layout& layout = kLayouts[static_cast<uint8_t>(data[0] - '0') % kLayouts.size()];
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parts = hone::split_input(input, 1 + layout.files.size());
  hone::put_file(folder.path() + "/tokenizer_config.json", parts[0]);
  for (size_t i = 0; i < layout.files.size(); ++i) {
    hone::put_file(folder.path() + "/" + layout.files[i], parts[i + 1]);
  }
  hone::accepts(folder.path(), [&] {
    hone::text::encode_samples(hone::text::Tokenizer::load(folder.path(), layout.family));
  });
  return 0;
}
