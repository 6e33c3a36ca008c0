#pragma once

#include <span>
#include <string>
#include <vector>

namespace hone::cli {

using Words = std::vector<std::string>;

/// The subcommands. Each takes what follows its name, prints, and returns an exit code; mistakes
/// are thrown as Error.
int bench(const Words& arguments);
int completion(const Words& arguments);
int convert(const Words& arguments);
int doctor(const Words& arguments);
int embed(const Words& arguments);
int eval(const Words& arguments);
int explain(const Words& arguments);
int info(const Words& arguments);
int predict(const Words& arguments);
int profile(const Words& arguments);
int prep(const Words& arguments);
int report(const Words& arguments);
int serve(const Words& arguments);
int study(const Words& arguments);
int train(const Words& arguments);
int tokenize(const Words& arguments);

/// A row of the table of subcommands.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Words& arguments);
  bool has_signals = false;  ///< whether it deals with interrupts itself
};

std::span<const Command> commands();

/// Gives the manual page in roff: every subcommand with all of its options.
std::string man_page();

/// Runs the whole program: finds the subcommand, and turns errors into one line on standard error
/// and an exit code.
int run(const Words& arguments);

}  // namespace hone::cli
