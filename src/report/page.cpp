#include <fmt/format.h>

#include "report/chart_layout.h"
#include "report/report.h"

namespace hone::report {
namespace {

/// A picture's data on the page; what has more rows is thinned, and CSV has all.
constexpr size_t kRowsOnPage = 200;

constexpr std::string_view kPageStyle = R"(<style>
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1f24;--soft:#57606a;--grid:#d8dee4;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6edf3;--soft:#9aa5b1;--grid:#30363d;
--link:#79b8ff}}
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"DejaVu Sans",sans-serif}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
a{color:var(--link)}a:focus-visible,summary:focus-visible,.wide:focus-visible{outline:2px solid var(--link)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;list-style:none}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:1rem}
figure{margin:0;border:1px solid var(--grid);border-radius:6px;padding:.5rem;break-inside:avoid}
figure svg{width:100%;height:auto;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem}
caption{text-align:left;font-weight:600;padding:.5rem 0}
th,td{padding:.2rem .7rem;border-bottom:1px solid var(--grid);text-align:left;white-space:nowrap}
td.number{text-align:right;font-variant-numeric:tabular-nums}
summary{cursor:pointer;color:var(--soft);font-size:.875rem}
@media (max-width:30rem){dl{grid-template-columns:1fr}dd{padding-left:1rem}}
@media print{nav,details{display:none}body{max-width:none;padding:0}}
</style>
)";

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-+e%") == std::string::npos;
}

std::string table_html(const DataTable& table) {
  std::string out = fmt::format(
      "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table><caption>{0}"
      "</caption>\n<thead><tr>",
      escaped(table.title));
  for (const std::string& column : table.columns) {
    out += fmt::format("<th scope=\"col\">{}</th>", escaped(column));
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

std::string figure_html(const Chart& chart, const std::string& id) {
  return fmt::format(
      "<figure>{}<details><summary>Data of this picture</summary>\n{}</details></figure>\n",
      to_svg(chart, id), table_html(data_of(chart, kRowsOnPage)));
}

}  // namespace

std::string to_html(const Report& report, int refresh_seconds) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";
  if (refresh_seconds > 0) {
    out += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_seconds);
  }
  out += fmt::format("<title>{0}</title>\n{1}</head>\n<body>\n<header><h1>{0}</h1>\n<dl>\n",
                     escaped(report.title), kPageStyle);
  for (const auto& [name, value] : report.facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  }
  out += "</dl></header>\n<nav aria-label=\"Sections\"><ul>\n";
  for (size_t i = 0; i < report.sections.size(); ++i) {
    out += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i,
                       escaped(report.sections[i].heading));
  }
  out += "</ul></nav>\n<main>\n";
  size_t pictures = 0;
  for (size_t i = 0; i < report.sections.size(); ++i) {
    const Section& section = report.sections[i];
    out += fmt::format(
        "<section id=\"section-{0}\" aria-labelledby=\"heading-{0}\">\n"
        "<h2 id=\"heading-{0}\">{1}</h2>\n",
        i, escaped(section.heading));
    if (!section.text.empty()) out += fmt::format("<p>{}</p>\n", escaped(section.text));
    if (!section.charts.empty()) out += "<div class=\"charts\">\n";
    for (const Chart& chart : section.charts) {
      out += figure_html(chart, fmt::format("chart-{}", pictures++));
    }
    if (!section.charts.empty()) out += "</div>\n";
    for (const DataTable& table : section.tables) out += table_html(table);
    out += "</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace hone::report
