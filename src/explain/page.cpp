#include "explain/page.h"

#include "base/json_text.h"
#include "explain/page_parts.h"

namespace hone::explain {

Page::Page(const std::string& path, const PageFacts& facts) : file_(path) {
  file_.write(page_before_data());
  std::string json = "{\"model\":";
  hone::append_json(json, facts.model);
  json += ",\"method\":";
  hone::append_json(json, facts.method);
  json += ",\"labels\":";
  append_json_list(json, facts.labels);
  json += ",\"rows\":[";
  write_data(json);
}

void Page::add(const Explanation& explanation, const std::optional<Gold>& gold) {
  std::string json = first_ ? "\n{\"text\":" : ",\n{\"text\":";
  first_ = false;
  hone::append_json(json, explanation.text);
  if (gold) {
    json += ",\"gold\":";
    hone::append_json(json, gold->label);
    if (gold->wrong) json += *gold->wrong ? ",\"wrong\":true" : ",\"wrong\":false";
  }
  json += ',';
  append_fields(explanation, json);
  json += '}';
  write_data(json);
}

void Page::finish() {
  file_.write("\n]}");
  file_.write(page_behind_data());
  file_.commit();
}

void Page::write_data(const std::string& json) {
  size_t begin = 0;
  for (size_t at = json.find('<'); at != json.npos; at = json.find('<', begin)) {
    file_.write(std::string_view(json).substr(begin, at - begin));
    file_.write("\\u003c");
    begin = at + 1;
  }
  file_.write(std::string_view(json).substr(begin));
}

}  // namespace hone::explain
