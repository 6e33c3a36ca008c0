#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace hone::cli {
namespace {

/// Gives `text` with a backslash before each of `special`, and on one line.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// Gives `text` as one word of bash and zsh: a quote ends the quoted part and stands by itself.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Gives the names of all options whose value is shown as `value`, each with a space before it.
template <typename Wanted>
std::string names_where(const Declaration& declaration, const Wanted& wanted) {
  std::string names;
  for (const DeclaredOption& option : declaration.options) {
    if (!wanted(option)) continue;
    for (const std::string& name : option.names) names += " " + name;
  }
  return names;
}

constexpr const char* kBashEnd = R"(  esac
  if [ "$word" = "=" ]; then
    word=
  elif [ "$before" = "=" ]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$files " in *" $before "*)
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return ;;
  esac
  case "$folders " in *" $before "*)
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$word")
    return ;;
  esac
  case "$values " in *" $before "*) return ;; esac
  mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
}
complete -F _hone hone
)";

std::string bash_script() {
  std::string commands_text;
  std::string cases;
  for (const Command& command : commands()) {
    const Declaration declaration = declaration_of(command.run);
    const auto with_value = [&](const std::string& value) {
      return names_where(declaration, [&](const auto& option) { return option.value == value; });
    };
    commands_text += std::string(" ") + command.name;
    cases += fmt::format("    {})\n      names='{}'\n", command.name,
                         names_where(declaration, [](const auto&) { return true; }));
    cases += fmt::format("      files='{}'\n      folders='{}'\n", with_value("FILE"),
                         with_value("DIR"));
    cases += fmt::format("      values='{}' ;;\n", names_where(declaration, [](const auto& option) {
                           return !option.value.empty();
                         }));
  }
  return fmt::format(
             "# bash: source <(hone completion bash)\n"
             "_hone() {{\n"
             "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
             "  local names= files= folders= values=\n"
             "  COMPREPLY=()\n"
             "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
             "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$word\")\n"
             "    return\n"
             "  fi\n"
             "  case ${{COMP_WORDS[1]}} in\n{}",
             commands_text, cases) +
         kBashEnd;
}

/// Gives an option of zsh's _arguments. An argument without a name may be a file.
std::string zsh_option(const DeclaredOption& option) {
  std::string action;
  if (option.value == "FILE") action = "_files";
  if (option.value == "DIR") action = "_directories";
  const std::string help = escaped(option.help, "[]:\\");
  if (option.names.empty()) {
    return "      " + shell_quoted(fmt::format("::{}:_files", escaped(option.value, ":"))) +
           " \\\n";
  }
  std::string text;
  for (const std::string& name : option.names) {
    std::string word = name + "[" + help + "]";
    if (!option.value.empty()) {
      word += fmt::format(":{}:{}", escaped(option.value, ":"), action.empty() ? " " : action);
    }
    text += "      " + shell_quoted(word) + " \\\n";
  }
  return text;
}

std::string zsh_script() {
  std::string list;
  std::string cases;
  for (const Command& command : commands()) {
    list += "      " + shell_quoted(fmt::format("{}:{}", command.name, command.summary)) + "\n";
    cases += fmt::format("    {}) _arguments \\\n", command.name);
    for (const DeclaredOption& option : declaration_of(command.run).options) {
      cases += zsh_option(option);
    }
    cases += "      ;;\n";
  }
  return fmt::format(
      "#compdef hone\n"
      "# zsh: source <(hone completion zsh), or save it as _hone in a folder of $fpath\n"
      "_hone() {{\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a names=(\n{}    )\n"
      "    _describe command names\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n{}  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _hone ]; then _hone \"$@\"; else compdef _hone hone; fi\n",
      list, cases);
}

/// Gives `text` as one word of fish, where a quoted part knows two escapes.
std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

std::string fish_script() {
  std::string text =
      "# fish: hone completion fish > ~/.config/fish/completions/hone.fish\n"
      "complete -c hone -f\n";
  for (const Command& command : commands()) {
    text += fmt::format("complete -c hone -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
    for (const DeclaredOption& option : declaration_of(command.run).options) {
      if (option.names.empty()) continue;
      text += fmt::format("complete -c hone -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.value == "FILE") {
        text += " -r -F";
      } else if (option.value == "DIR") {
        text += " -x -a '(__fish_complete_directories)'";
      } else if (!option.value.empty()) {
        text += " -x";
      }
      text += " -d " + fish_quoted(option.help) + "\n";
    }
  }
  return text;
}

}  // namespace

int completion(const Words& words) {
  Arguments arguments("completion", "Writes what makes a shell complete hone's options.");
  std::string shell;
  arguments.without_common();
  arguments.positional("SHELL", shell, "bash, zsh or fish");
  arguments.example("source <(hone completion bash)");
  std::string answer;
  if (!arguments.parse(words, answer)) {
    print(answer);
    return kDone;
  }
  if (shell == "bash") {
    print(bash_script());
  } else if (shell == "zsh") {
    print(zsh_script());
  } else if (shell == "fish") {
    print(fish_script());
  } else {
    fail(ErrorKind::usage, "completion: expected bash, zsh or fish, got {}", quote(shell));
  }
  return kDone;
}

}  // namespace hone::cli
