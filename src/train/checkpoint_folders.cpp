#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "train/checkpoint.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";

/// Gives the N of checkpoint-N; -1 for anything else.
int64_t step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() ? step : -1;
}

/// Gives the newest checkpoint before `step` that is whole, for a message; empty if there is none.
std::string whole_before(const std::string& output, int64_t step) {
  std::vector<std::string> all = list_checkpoints(output);
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    if (step_of(fs::path(*it).filename().string()) >= step) continue;
    try {
      verify_checkpoint(*it);
      return *it;
    } catch (const Error&) {
      continue;
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> list_checkpoints(const std::string& output) {
  std::map<int64_t, std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(output, error)) {
    const int64_t step = step_of(entry.path().filename().string());
    if (step >= 0 && entry.is_directory(error)) found[step] = entry.path().string();
  }
  std::vector<std::string> folders;
  for (const auto& [step, folder] : found) folders.push_back(folder);
  return folders;
}

std::string checkpoint_path(const std::string& output, int64_t step) {
  return output + "/" + std::string(kPrefix) + std::to_string(step);
}

std::string choose_checkpoint(const std::string& output, const std::string& resume) {
  std::string folder = resume;
  if (resume == "last") {
    const std::vector<std::string> all = list_checkpoints(output);
    if (all.empty()) return {};
    folder = all.back();
  } else if (!folder_exists(folder)) {
    fail(ErrorKind::usage, "resume: {} is no folder", quote(folder));
  }
  try {
    verify_checkpoint(folder);
  } catch (const Error& problem) {
    const fs::path path = fs::path(folder).lexically_normal();
    const std::string other =
        whole_before(path.parent_path().string(), step_of(path.filename().string()));
    fail(ErrorKind::bad_file, "{}; {}", problem.what(),
         other.empty() ? "there is no whole checkpoint before it"
                       : "the one before it is whole: `resume` " + other);
  }
  return folder;
}

void remove_checkpoint(const std::string& folder) {
  // A checkpoint loses its name first, and on the disk too: one that is half removed must not look
  // like one.
  const std::string doomed = folder + ".partial-removed";
  if (!rename_path(folder, doomed) || !sync_folder(folder_of(folder)) || !remove_tree(doomed)) {
    fail(ErrorKind::io, "{}: cannot remove: {}", folder, std::strerror(errno));
  }
}

void rotate_checkpoints(const std::string& output, int64_t limit, const std::string& keep) {
  if (limit <= 0) return;
  std::vector<std::string> all = list_checkpoints(output);
  auto left = static_cast<int64_t>(all.size());
  for (size_t i = 0; i + 1 < all.size() && left > limit; ++i) {
    if (all[i] == keep) continue;
    remove_checkpoint(all[i]);
    --left;
  }
}

}  // namespace hone::train
