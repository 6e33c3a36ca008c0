#pragma once

#include <string>

namespace hone {

/// Where a library is that hone opens when it first needs it: what the environment variable names,
/// else what find_plugin() finds from the file that this code is in (the program, libhone.so, an
/// extension of Python), else the bare name, for the system to look for.
std::string plugin_path(const char* variable, const char* file_name);

/// Leads from the folder of programs to that of libraries, where hone is installed: "../lib".
extern const char* const kLibrariesFromPrograms;

/// Looks beside a file in `folder`, as in a build's folder; in its folder `hone`, as of a library
/// that was installed; and in the installed libraries' one as a program's `folder` knows it. Empty:
/// it is in none.
std::string find_plugin(const std::string& folder, const char* file_name);

}  // namespace hone
