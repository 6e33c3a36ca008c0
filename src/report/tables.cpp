#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "report/report.h"

namespace hone::report {
namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_text(const DataTable& table) {
  std::string out;
  const auto row = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? "," : "") + csv_cell(cells[i]);
    out += '\n';
  };
  row(table.columns);
  for (const auto& cells : table.rows) row(cells);
  return out;
}

/// Gives text for LaTeX's Latin fonts; letters that they lack become question marks.
std::string latex_text(const std::string& text) {
  constexpr char32_t kLatin = 0xff;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char letter = decode_utf8(text, at);
    const std::string_view bytes = std::string_view(text).substr(at, letter.size);
    at += letter.size;
    if (letter.code == '\\') {
      out += "\\textbackslash{}";
    } else if (letter.code == '~') {
      out += "\\textasciitilde{}";
    } else if (letter.code == '^') {
      out += "\\textasciicircum{}";
    } else if (letter.code == '<' || letter.code == '>') {
      out += letter.code == '<' ? "\\textless{}" : "\\textgreater{}";
    } else if (letter.code < 0x80 && std::string_view("&%$#_{}").find(bytes) != std::string::npos) {
      out += '\\';
      out += bytes;
    } else if (letter.code < ' ' || (letter.code >= 0x7f && letter.code < 0xa0)) {
      out += ' ';
    } else {
      out += letter.code > kLatin ? std::string_view("?") : bytes;
    }
  }
  return out;
}

/// Gives a table as it fits on a page: one of more columns comes in parts, each with the first.
std::vector<DataTable> printed_parts(const DataTable& table) {
  constexpr size_t kPrintedColumns = 7;
  std::vector<DataTable> parts;
  size_t begin = 1;
  do {
    const size_t end = std::min(table.columns.size(), begin + kPrintedColumns - 1);
    const auto cut = [&](const std::vector<std::string>& row) {
      std::vector<std::string> cells = {row.front()};
      for (size_t i = begin; i < end; ++i) cells.push_back(row[i]);
      return cells;
    };
    DataTable& part =
        parts.emplace_back(DataTable{.title = table.title + (begin > 1 ? " (more columns)" : ""),
                                     .columns = cut(table.columns)});
    for (const auto& row : table.rows) part.rows.push_back(cut(row));
    begin = end;
  } while (begin < table.columns.size());
  return parts;
}

std::string latex_part(const DataTable& table) {
  std::string out = fmt::format("\\begin{{longtable}}{{{}}}\n\\caption{{{}}}\\\\\n\\toprule\n",
                                std::string(table.columns.size(), 'l'), latex_text(table.title));
  const auto row = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? " & " : "") + latex_text(cells[i]);
    out += " \\\\\n";
  };
  row(table.columns);
  out += "\\midrule\n\\endhead\n";
  for (const auto& cells : table.rows) row(cells);
  return out + "\\bottomrule\n\\end{longtable}\n";
}

std::string latex_table(const DataTable& table) {
  std::string out;
  for (const DataTable& part : printed_parts(table)) out += latex_part(part);
  return out;
}

/// Gives file names of titles: small letters and digits, and a number where one comes again.
class FileNames {
 public:
  std::string name(const std::string& title, const char* ending) {
    constexpr size_t kLongest = 60;
    std::string name;
    for (const char c : title) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      const bool capital = c >= 'A' && c <= 'Z';
      if (letter || capital) {
        name += static_cast<char>(capital ? c - 'A' + 'a' : c);
      } else if (!name.empty() && name.back() != '-') {
        name += '-';
      }
      if (name.size() >= kLongest) break;
    }
    while (!name.empty() && name.back() == '-') name.pop_back();
    if (name.empty()) name = "table";
    const int again = used_[name]++;
    return again == 0 ? name + ending : fmt::format("{}-{}{}", name, again + 1, ending);
  }

 private:
  std::map<std::string, int> used_;
};

}  // namespace

std::string to_latex(const Report& report) {
  std::string out =
      "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n"
      "\\usepackage[margin=20mm]{geometry}\n\\usepackage{booktabs}\n\\usepackage{longtable}\n"
      "\\begin{document}\n\\footnotesize\n";
  out += fmt::format("\\title{{{}}}\n\\author{{hone}}\n\\maketitle\n", latex_text(report.title));
  if (!report.facts.empty()) {
    DataTable facts{.title = "About", .columns = {"name", "value"}};
    for (const auto& [name, value] : report.facts) facts.rows.push_back({name, value});
    out += latex_table(facts);
  }
  constexpr size_t kPrintedRows = 40;
  for (const Section& section : report.sections) {
    out +=
        fmt::format("\\section{{{}}}\n{}\n", latex_text(section.heading), latex_text(section.text));
    for (const Chart& chart : section.charts) out += latex_table(data_of(chart, kPrintedRows));
    for (const DataTable& table : section.tables) out += latex_table(table);
  }
  return out + "\\end{document}\n";
}

std::vector<NamedText> to_csv(const Report& report) {
  FileNames names;
  std::vector<NamedText> files;
  for (const Section& section : report.sections) {
    for (const Chart& chart : section.charts) {
      files.push_back({names.name(text_of(chart).title, ".csv"), csv_text(data_of(chart))});
    }
    for (const DataTable& table : section.tables) {
      files.push_back({names.name(table.title, ".csv"), csv_text(table)});
    }
  }
  return files;
}

std::vector<NamedText> to_svgs(const Report& report) {
  FileNames names;
  std::vector<NamedText> files;
  for (const Section& section : report.sections) {
    for (const Chart& chart : section.charts) {
      files.push_back({names.name(text_of(chart).title, ".svg"), to_svg(chart)});
    }
  }
  return files;
}

}  // namespace hone::report
