#include "cli/commands.h"

#include <fmt/core.h>

#include <new>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/version.h"
#include "comm/run_failed.h"
#include "comm/world.h"

namespace hone::cli {
namespace {

std::string help() {
  std::string text =
      "hone trains and runs BERT-family classifiers from Hugging Face folders.\n"
      "Usage: hone COMMAND [OPTIONS]\n\nCommands:\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  return text +
         "\nhone COMMAND --help shows a command's options; hone --version the version.\n"
         "\nExample: echo 'a great film' | hone predict --model DIR\n";
}

[[noreturn]] void fail_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands()) known.emplace_back(command.name);
  const auto near = nearest(name, known);
  fail(ErrorKind::usage, "unknown command {}{}", quote(name),
       near ? "; did you mean " + *near + "?" : "; see hone --help");
}

int dispatch(const Words& arguments) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    const bool man = arguments.size() == 2 && arguments[1] == "--man";
    print(man ? man_page() : help());
    return arguments.empty() ? kUserError : kDone;
  }
  if (first == "--version") {
    print(version_line() + "\n");
    return kDone;
  }
  for (const Command& command : commands()) {
    if (first == command.name) {
      std::optional<Interruptible> interruptible;
      if (!command.has_signals) interruptible.emplace();
      return command.run({arguments.begin() + 1, arguments.end()});
    }
  }
  fail_command(first);
}

int complain(std::string_view message, int code) {
  fmt::print(stderr, "hone: {}\n", message);
  return code;
}

}  // namespace

int run(const Words& arguments) {
  try {
    return dispatch(arguments);
  } catch (const ReaderGone&) {
    return kDone;  // `hone ... | head`: the reader has what it wanted
  } catch (const comm::RunFailed& error) {
    if (error.told_here()) return complain(error.what(), kFailed);
    comm::let_others_tell();
    return kFailed;
  } catch (const Error& error) {
    return complain(with_flags(error), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain("not enough memory", exit_code(ErrorKind::memory));
  } catch (const std::exception& error) {
    return complain(std::string("internal error: ") + error.what(), exit_code(ErrorKind::internal));
  }
}

}  // namespace hone::cli
