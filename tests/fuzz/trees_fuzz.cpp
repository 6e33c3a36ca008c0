// layers: data
#include <cstdlib>
#include <string_view>

#include "data/tree_file.h"
#include "fuzz/refusal.h"
#include "trees/words.h"

/// Whatever the bytes say: trees are refused in one line, or their constituents are in order and
/// nest, they are found by their text, their words are found in it, and what is written of them is
/// read again with the same constituents.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  trees::TreeIndex index;
  accepts("fuzz: ", [&] {
    data::TreeFile file(data::LineReader(data::bytes_of_memory(bytes), "fuzz"));
    for (trees::Tree tree; file.next(tree);) {
      int32_t begin = 0;
      std::vector<int32_t> ends = {static_cast<int32_t>(tree.words.size())};
      for (const trees::Constituent& each : tree.constituents) {
        while (ends.size() > 1 && ends.back() <= each.begin) ends.pop_back();
        if (each.begin < begin || each.size() < 2 || each.end > ends.back()) std::abort();
        begin = each.begin;
        ends.push_back(each.end);
      }
      const std::string text = tree.text();
      if (const auto places = trees::locate_words(tree, text)) {
        if (places->size() != tree.words.size()) std::abort();
      }
      trees::BracketReader reader;
      std::vector<trees::Tree> again;
      if (tree.words.size() < 2000 && !reader.take(trees::brackets_of(tree), again).empty()) {
        std::abort();
      }
      if (!again.empty() && again[0].constituents.size() != tree.constituents.size()) std::abort();
      index.add(tree);
    }
  });
  for (const trees::Tree& tree : index.trees()) index.find(tree.text());
  const auto words = trees::split_words(bytes);
  if (trees::sentence_ends(bytes, words).size() != words.size()) std::abort();
  return 0;
}
