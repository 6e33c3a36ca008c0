#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

/// Gives what a shell command writes to its standard output and error; `code` gets its exit code.
std::string shell_output(const std::string& command, int& code) {
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  std::string out;
  char bytes[4096];
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, pipe)) > 0;) out.append(bytes, count);
  const int status = pclose(pipe);
  code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

bool has_program(const std::string& name) {
  int code = -1;
  shell_output("command -v " + name, code);
  return code == 0;
}

/// Gives the subcommands that hone --help lists.
Words listed_commands() {
  const std::string help = hone({"--help"}).out;
  const std::regex line("\n  ([a-z]+) +[a-z]");
  Words names;
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

/// Gives every long option that a subcommand's help shows in its first column.
std::set<std::string> listed_options(const std::string& command) {
  Finished help = hone({command, "--help-all"});
  if (help.code != 0) help = hone({command, "--help"});
  const std::regex line("(?:^|\n)  ((?:-{1,2}[A-Za-z][A-Za-z0-9_-]*,?)+)");
  const std::regex option("--[A-Za-z0-9_-]+");
  std::set<std::string> names;
  for (std::sregex_iterator at(help.out.begin(), help.out.end(), line), end; at != end; ++at) {
    const std::string group = (*at)[1];
    for (std::sregex_iterator name(group.begin(), group.end(), option); name != end; ++name) {
      names.insert(name->str());
    }
  }
  return names;
}

/// Gives what bash offers for the last of `words`, as it calls the function that a script names.
std::string bash_offers(const std::string& script, const Words& words) {
  std::string line = "source '" + script + "'; compopt() { :; }; COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
          "; name=$(complete -p hone | sed \"s/.*-F \\([^ ]*\\) .*/\\1/\"); $name; "
          "echo \"${COMPREPLY[@]}\"";
  const Scratch scratch;
  int code = -1;
  const std::string out = shell_output("bash " + scratch.write("offer", line), code);
  EXPECT_EQ(code, 0) << out;
  return out;
}

TEST(Completion, EveryScriptNamesEveryCommandAndOption) {
  const Words listed = listed_commands();
  ASSERT_EQ(listed.size(), commands().size());
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished script = hone({"completion", shell});
    ASSERT_EQ(script.code, 0) << script.err;
    EXPECT_EQ(script.err, "");
    for (const std::string& command : listed) {
      EXPECT_NE(script.out.find(command), std::string::npos) << shell << " " << command;
      const std::set<std::string> options = listed_options(command);
      EXPECT_GE(options.size(), 2u) << command;
      for (const std::string& option : options) {
        const std::string name = shell == std::string("fish")
                                     ? "from " + command + "'.* -l " + option.substr(2) + " "
                                     : option + (shell == std::string("zsh") ? "\\[" : "[ ']");
        EXPECT_TRUE(std::regex_search(script.out, std::regex(name))) << shell << " " << option;
      }
    }
  }
}

TEST(Completion, BashOffersCommandsOptionsFilesAndNothingForOtherValues) {
  const Scratch scratch;
  const std::string script = scratch.write("hone.bash", hone({"completion", "bash"}).out);
  int code = -1;
  EXPECT_EQ(shell_output("bash -n " + script, code), "");
  EXPECT_EQ(code, 0);
  scratch.write("train_data.csv", "x");
  EXPECT_EQ(bash_offers(script, {"hone", "pre"}), "predict prep\n");
  EXPECT_EQ(bash_offers(script, {"hone", "predict", "--no-e"}), "--no-exits\n");
  EXPECT_EQ(bash_offers(script, {"hone", "train", "--train_file", scratch / "train_"}),
            scratch / "train_data.csv\n");
  EXPECT_EQ(bash_offers(script, {"hone", "train", "--train_file", "=", scratch / "train_"}),
            scratch / "train_data.csv\n");
  EXPECT_EQ(bash_offers(script, {"hone", "train", "--data", scratch / "train_"}), "\n");
  EXPECT_EQ(bash_offers(script, {"hone", "train", "--seed", ""}), "\n");
  const std::string all = bash_offers(script, {"hone", "convert", "--"});
  for (const std::string& option : listed_options("convert")) {
    EXPECT_NE((" " + all).find(" " + option), std::string::npos) << option;
  }
}

TEST(Completion, ZshAndFishCanReadTheirScripts) {
  const Scratch scratch;
  for (const std::string shell : {"zsh", "fish"}) {
    if (!has_program(shell)) GTEST_SKIP() << "no " << shell << " here";
    int code = -1;
    const std::string script = scratch.write(shell, hone({"completion", shell}).out);
    EXPECT_EQ(shell_output(shell + " -n " + script, code), "") << shell;
    EXPECT_EQ(code, 0) << shell;
  }
}

TEST(Completion, AnotherShellIsRefused) {
  expect_refused(hone({"completion", "tcsh"}), {"completion", "bash, zsh or fish", "tcsh"});
  expect_refused(hone({"completion"}), {"completion", "bash, zsh or fish"});
  expect_refused(hone({"completion", "bash", "--device", "cpu"}), {"--device"});
}

TEST(ManPage, NamesEveryCommandAndOption) {
  const Finished page = hone({"help", "--man"});
  ASSERT_EQ(page.code, 0) << page.err;
  for (const std::string& command : listed_commands()) {
    const size_t begin = page.out.find(".SS hone " + command + "\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.out.substr(begin, page.out.find("\n.S", begin + 1) - begin);
    for (const std::string& option : listed_options(command)) {
      const std::string shown = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_NE(section.find("\\fB" + shown + "\\fR"), std::string::npos) << command << option;
    }
    EXPECT_NE(section.find("\n.EX\n"), std::string::npos) << command;
  }
}

TEST(ManPage, GroffHasNothingToSayAboutIt) {
  if (!has_program("groff")) GTEST_SKIP() << "no groff here";
  const Scratch scratch;
  int code = -1;
  const std::string page = scratch.write("hone.1", hone({"help", "--man"}).out);
  EXPECT_EQ(shell_output("groff -man -Tutf8 -ww " + page + " > /dev/null", code), "");
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace hone::cli
