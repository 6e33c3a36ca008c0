#include <algorithm>

#include "base/json_text.h"
#include "report/page_html.h"

namespace hone::report {
namespace {

/// Gives JSON of which nothing can end the element that holds it, or become markup. All of these
/// stand in strings alone, where JSON lets any letter be written by its number.
std::string inert(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view three = std::string_view(json).substr(i, 3);
    if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
      out += json[i] == '<' ? "\\u003c" : json[i] == '>' ? "\\u003e" : "\\u0026";
    } else if (three == "\u2028" || three == "\u2029") {
      out += three == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

void append_texts(std::string& json, const ChartText& text, const std::string& id) {
  json += "{\"id\":";
  append_json(json, id);
  json += ",\"title\":";
  append_json(json, text.title);
  json += ",\"x\":";
  append_json(json, text.x_label);
  json += ",\"y\":";
  append_json(json, text.y_label);
}

}  // namespace

bool is_dense(const Chart& chart) {
  constexpr size_t kDense = 500;  // points of a curve of which one wants to see parts larger
  const auto* lines = std::get_if<LineChart>(&chart);
  return lines && !lines->stacked &&
         std::ranges::any_of(lines->series,
                             [](const ChartSeries& series) { return series.x.size() >= kDense; });
}

void PageData::add(const Chart& chart, const std::string& id) {
  const auto* flame = std::get_if<FlameChart>(&chart);
  if (!flame && !is_dense(chart)) return;
  json_ += json_.empty() ? "[" : ",\n";
  append_texts(json_, text_of(chart), id);
  if (flame) {
    json_ += ",\"unit\":";
    append_json(json_, flame->unit);
    char before = '[';
    json_ += ",\"frames\":";
    for (const FlameFrame& frame : flame->frames) {
      json_ += before;
      before = ',';
      json_ += '[';
      append_json(json_, frame.depth);
      json_ += ',';
      append_json(json_, frame.name);
      json_ += ',';
      append_json(json_, frame.value);
      json_ += ']';
    }
    json_ += before == '[' ? "[]}" : "]}";
    return;
  }
  char before = '[';
  json_ += ",\"series\":";
  for (const ChartSeries& series : std::get<LineChart>(chart).series) {
    json_ += before;
    before = ',';
    json_ += "{\"name\":";
    append_json(json_, series.name);
    json_ += ",\"x\":";
    append_json_list(json_, series.x);
    // A screen shows fewer digits than a float has.
    json_ += ",\"y\":";
    append_json_list(json_, std::vector<float>(series.y.begin(), series.y.end()));
    json_ += '}';
  }
  json_ += "]}";
}

std::string PageData::text() const { return json_.empty() ? "[]" : inert(json_ + "]"); }

}  // namespace hone::report
