#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace hone::prep {

/// One of the processes that prepare one store together. They share nothing but the output's
/// folder: rank r does every `size`-th piece of work from the r-th on, and waits for files of
/// others to appear.
struct Ranks {
  int rank = 0;
  int size = 1;
  std::string launch;  ///< differs from one start to the next, not from rank to rank
};

/// Gives what mpirun, srun or hone's own start says of this process; one by itself otherwise.
Ranks ranks_of_environment();

/// Writes a file between the stages. It appears whole or not at all, but may be lost or damaged
/// when the machine itself goes down: whoever finds one again checks its hash. A full disk is an io
/// error that names the path.
void write_work_file(const std::string& path, std::string_view bytes);

/// Adds a hash to the bytes of a file, and takes it off: false where the file is missing or
/// damaged.
std::string sealed(std::string bytes);
bool read_sealed(const std::string& path, std::string& bytes);

/// While one lives, others see by a file in the work's folder that this rank is alive; they see
/// that it failed when it dies of an exception.
class Pulse {
 public:
  Pulse(std::string folder, Ranks ranks, double timeout);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// Waits until `done` says so. A rank that failed, or was silent for the timeout, is an Error
  /// that names it.
  void wait(const std::function<bool()>& done) const;
  /// Says that this rank has done its share; the first one waits until all have, since it removes
  /// the folder that a rank which starts late still looks for.
  void finish() const;

 private:
  void beat();
  std::string file_of(const char* what, int rank) const;

  std::string folder_;
  Ranks ranks_;
  double timeout_;
  int exceptions_;  ///< how many were passing when this was made
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace hone::prep
