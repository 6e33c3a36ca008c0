#include <fmt/format.h>

#include <algorithm>

#include "report/chart_layout.h"
#include "report/page_html.h"
#include "report/page_parts.h"

namespace hone::report {
namespace {

/// A picture's data on the page; what has more rows is thinned, and CSV has all.
constexpr size_t kRowsOnPage = 200;

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-+e%") == std::string::npos;
}

std::string table_html(const DataTable& table) {
  std::string out = fmt::format(
      "<div class=\"wide{1}\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">\n<table>"
      "<caption>{0}</caption>\n<thead><tr>",
      escaped(table.title), table.compares ? " compares" : "");
  // A column's name stands where its numbers do.
  const auto numbers = [&](size_t column) {
    return std::ranges::any_of(table.rows, [&](const auto& row) { return is_number(row[column]); });
  };
  for (size_t i = 0; i < table.columns.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", numbers(i) ? " class=\"number\"" : "",
                       escaped(table.columns[i]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const std::string& cell : row) {
      out +=
          fmt::format("<td{}>{}</td>", is_number(cell) ? " class=\"number\"" : "", escaped(cell));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

/// Gives a picture twice, of which the style sheet shows the one for the window's width.
std::string figure_html(const Chart& chart, const std::string& id) {
  constexpr double kPageWidth = 560, kAcrossWidth = 800;
  const bool across = std::holds_alternative<FlameChart>(chart);
  const SvgOptions wide{.id = id, .width = across ? kAcrossWidth : kPageWidth, .styled = false};
  const SvgOptions narrow{.id = id + "-narrow", .width = kNarrowWidth, .styled = false};
  return fmt::format(
      "<figure id=\"{}\"{}><div class=\"picture\"><div class=\"broad\">{}</div>"
      "<div class=\"narrow\">{}</div></div>\n"
      "<details><summary>Data of this picture</summary>\n{}</details></figure>\n",
      id, across ? " class=\"across\"" : "", to_svg(chart, wide), to_svg(chart, narrow),
      table_html(data_of(chart, kRowsOnPage)));
}

std::string section_html(const Section& section, size_t number, PageData& data, size_t& pictures) {
  std::string out = fmt::format(
      "<section id=\"section-{0}\" aria-labelledby=\"heading-{0}\"{1}>\n"
      "<h2 id=\"heading-{0}\">{2}</h2>\n",
      number, section.run.empty() ? "" : fmt::format(" data-run=\"{}\"", escaped(section.run)),
      escaped(section.heading));
  if (!section.text.empty()) out += fmt::format("<p>{}</p>\n", escaped(section.text));
  if (!section.charts.empty()) out += "<div class=\"charts\">\n";
  for (const Chart& chart : section.charts) {
    const std::string id = fmt::format("chart-{}", pictures++);
    data.add(chart, id);
    out += figure_html(chart, id);
  }
  if (!section.charts.empty()) out += "</div>\n";
  for (const DataTable& table : section.tables) out += table_html(table);
  return out + "</section>\n";
}

}  // namespace

std::string to_html(const Report& report, int refresh_seconds) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src '{}' '{}'; script-src '{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
      chart_style_hash(), page_style_hash(), page_script_hash());
  if (refresh_seconds > 0) {
    out += fmt::format("<noscript><meta http-equiv=\"refresh\" content=\"{}\"></noscript>\n",
                       refresh_seconds);
  }
  out += fmt::format(
      "<title>{0}</title>\n<style>{1}</style>\n<style>{2}</style>\n</head>\n"
      "<body data-refresh=\"{3}\">\n<header><h1>{0}</h1>\n<dl>\n",
      escaped(report.title), chart_style(), page_style(), refresh_seconds);
  for (const auto& [name, value] : report.facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  }
  out += "</dl></header>\n<nav aria-label=\"Sections\"><ul>\n";
  for (size_t i = 0; i < report.sections.size(); ++i) {
    out += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i,
                       escaped(report.sections[i].heading));
  }
  out += "</ul></nav>\n<main>\n";
  PageData data;
  size_t pictures = 0;
  for (size_t i = 0; i < report.sections.size(); ++i) {
    out += section_html(report.sections[i], i, data, pictures);
  }
  return out + fmt::format(
                   "</main>\n<script type=\"application/json\" id=\"data\">{}</script>\n"
                   "<script>{}</script>\n</body>\n</html>\n",
                   data.text(), page_script());
}

}  // namespace hone::report
