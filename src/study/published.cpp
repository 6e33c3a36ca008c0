#include "study/published.h"

namespace hone::study {

std::vector<Json> published_records(const std::string& study) {
  std::vector<Json> records;
  std::string_view text = published_text();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    Json record = parse_json(text.substr(0, end), "published");
    if (record.at("study") == study) records.push_back(std::move(record));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return records;
}

}  // namespace hone::study
