#include <fmt/core.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/version.h"

namespace hone::cli {
namespace {

/// Gives `text` for roff: dashes stay dashes, backslashes are shown, and a line that begins with a
/// dot or a quote is no request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_entry(const DeclaredOption& option) {
  std::string heading;
  for (const std::string& name : option.names) {
    if (!heading.empty()) heading += ", ";
    heading += "\\fB" + roff(name) + "\\fR";
  }
  if (!option.value.empty()) {
    if (!heading.empty()) heading += " ";
    heading += "\\fI" + roff(option.value) + "\\fR";
  }
  return ".TP\n" + heading + "\n" + roff(option.help) + "\n";
}

std::string command_section(const Command& command) {
  const Declaration declaration = declaration_of(command.run);
  std::string text = fmt::format(".SS hone {}\n{}\n", command.name, roff(declaration.summary));
  for (const DeclaredOption& option : declaration.options) text += option_entry(option);
  return text + ".PP\nExample:\n.PP\n.EX\n" + roff(declaration.example) + "\n.EE\n";
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
0
The command did what it was asked for.
.TP
1
The machine failed: a disk, a lack of memory, a device.
.TP
2
The arguments or a file are wrong; one line names the option or the file, the field and the value.
.TP
130
The command was interrupted.
)";

}  // namespace

std::string man_page() {
  std::string text = ".TH HONE 1 \"\" \"" + version_line() +
                     "\" \"User Commands\"\n"
                     ".SH NAME\nhone \\- train, shrink and run BERT\\-family classifiers\n"
                     ".SH SYNOPSIS\n\\fBhone\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
                     ".SH DESCRIPTION\n"
                     "hone fine\\-tunes encoder classifiers from Hugging Face folders, makes them "
                     "smaller and runs "
                     "them. In the names of options, dash and underscore are alike.\n"
                     ".SH COMMANDS\n";
  for (const Command& command : commands()) text += command_section(command);
  return text + kEnd;
}

}  // namespace hone::cli
