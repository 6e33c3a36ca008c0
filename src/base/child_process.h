#pragma once

#include <string>
#include <vector>

namespace hone {

/// Holds what a program left that has ended.
struct ChildResult {
  int code = 0;  ///< its exit code; 128 and the signal's number where one ended it
  std::string out;
  std::string err;
};

/// The file of this very program.
std::string own_program();

/// Runs a program to its end with nothing on its standard input. It is killed when this process
/// ends before.
ChildResult run_child(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace hone
