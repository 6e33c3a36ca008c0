#pragma once

#include <string>
#include <vector>

namespace hone::cli {

using Words = std::vector<std::string>;

/// The subcommands. Each takes what follows its name, prints, and returns an exit code; mistakes
/// are thrown as Error.
int bench(const Words& arguments);
int convert(const Words& arguments);
int embed(const Words& arguments);
int eval(const Words& arguments);
int info(const Words& arguments);
int predict(const Words& arguments);
int train(const Words& arguments);
int tokenize(const Words& arguments);

/// The whole program: finds the subcommand, and turns errors into one line on standard error and
/// an exit code.
int run(const Words& arguments);

}  // namespace hone::cli
