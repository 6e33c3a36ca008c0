#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hone::cli {

using Words = std::vector<std::string>;

/// What a finished program left.
struct Finished {
  int code = -1;  ///< 128 + signal where one ended it; -1 where it had to be killed for its time
  std::string out;
  std::string err;
  int64_t peak_kilobytes = 0;

  /// Each line of the output as JSON.
  std::vector<Json> objects() const;
};

/// How a program is started where it is not as usual.
struct ProgramOptions {
  std::string stdout_path = {};  ///< where its output goes instead of a pipe
  uint64_t open_files = 0;       ///< how many it may have; 0: as many as this program
  uint64_t address_space = 0;    ///< bytes that it may have; 0: as many as this program
  std::vector<int> closed = {};  ///< standard descriptors that it does not get
};

/// The hone binary under way. It starts with signals as a terminal's shell has them, whatever this
/// program was started with.
class Program {
 public:
  explicit Program(const Words& arguments, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void write(std::string_view bytes) const;
  void close_input();
  void close_output();
  void signal(int number) const;
  pid_t process() const { return process_; }
  /// Says whether it has not ended by itself.
  bool runs() const;
  /// The next line of the output; empty where none comes within the time limit.
  std::string read_line();
  /// The next line of standard error, likewise.
  std::string read_error_line();
  /// Feeds `input`, closes it, and collects everything.
  Finished finish(std::string_view input = {});

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::string read_ahead_;
  std::string errors_ahead_;
};

Finished hone(const Words& arguments, std::string_view input = {});

/// A committed model folder.
std::string golden(const std::string& name);
/// Reads goldens.json of a folder of goldens.
Json goldens_of(const std::string& name);

/// A folder of this test's own, gone at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, std::string_view bytes) const;
  /// A copy of a golden folder to be spoilt.
  std::string copy(const std::string& golden_name) const;
  /// Names in the folder.
  Words entries() const;

 private:
  std::string path_;
};

/// Exit code 2, nothing on standard output, and one line on standard error with all of `parts`.
void expect_refused(const Finished& finished, const Words& parts);

}  // namespace hone::cli
