#include "prep/stop_words.h"

#include "data/line_reader.h"

namespace hone::prep {

const std::string_view kEnglishStopWords =
    "a about above after again against all also am an and any are as at be because been before "
    "being below between both br but by can could d did do does doing down during each few for "
    "from further had has have having he he'd he'll her here here's hers herself he's him himself "
    "his how how's i i'd if i'll i'm in into is it its it's itself i've just ll m me more most my "
    "myself now o of off on once only or other our ours ourselves out over own re s same she "
    "she'd she'll she's should should've so some such t than that that'll that's the their theirs "
    "them themselves then there there's these they they'd they'll they're they've this those "
    "through to too under until up us ve very was we we'd we'll were we're we've what what's when "
    "when's where where's which while who whom who's why why's will with would y you you'd you'll "
    "your you're yours yourself yourselves you've";

std::vector<std::string> stop_words(const std::string& name) {
  std::vector<std::string> words;
  if (name == "none") return words;
  if (name == "english") {
    std::string_view left = kEnglishStopWords;
    while (!left.empty()) {
      const size_t size = left.find(' ');
      words.emplace_back(left.substr(0, size));
      left.remove_prefix(size == left.npos ? left.size() : size + 1);
    }
    return words;
  }
  data::LineReader lines(data::open_bytes(name), name);
  for (std::string_view line; lines.next(line);) {
    if (!line.empty()) words.emplace_back(line);
  }
  return words;
}

}  // namespace hone::prep
