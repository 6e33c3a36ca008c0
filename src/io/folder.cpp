#include "io/folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace hone::io {
namespace {

namespace fs = std::filesystem;

/// The value of an environment variable with `below` appended; empty where it is not set.
fs::path from_environment(const char* variable, const char* below) {
  const char* value = std::getenv(variable);
  return value && *value ? fs::path(value) / below : fs::path();
}

/// Lists the cache folders in the order in which huggingface_hub would choose one.
std::vector<fs::path> cache_folders() {
  std::vector<fs::path> folders = {
      from_environment("HF_HUB_CACHE", ""), from_environment("HUGGINGFACE_HUB_CACHE", ""),
      from_environment("HF_HOME", "hub"), from_environment("XDG_CACHE_HOME", "huggingface/hub"),
      from_environment("HOME", ".cache/huggingface/hub")};
  std::erase_if(folders, [](const fs::path& folder) { return folder.empty(); });
  return folders;
}

/// Says whether `name` is NAME or ORG/NAME in the letters that the hub allows, so that it cannot
/// climb out of the cache.
bool is_hub_name(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed) &&
         std::count(name.begin(), name.end(), '/') <= 1 && name.front() != '/' &&
         name.back() != '/' && name.find("..") == std::string::npos;
}

/// The snapshot that refs/main names, or the only one there is; empty if neither.
std::string snapshot_in(const fs::path& repository) {
  const fs::path snapshots = repository / "snapshots";
  const std::string ref = (repository / "refs" / "main").string();
  if (file_exists(ref)) {
    std::string revision = read_file(ref, 256);
    while (!revision.empty() && std::isspace(static_cast<unsigned char>(revision.back())) != 0) {
      revision.pop_back();
    }
    const bool plain = !revision.empty() && revision.find('/') == std::string::npos &&
                       revision.find('\0') == std::string::npos && revision.front() != '.';
    if (!plain) fail(ErrorKind::bad_file, "{}: not a revision: {}", ref, quote(revision));
    const std::string folder = (snapshots / revision).string();
    return folder_exists(folder) ? folder : "";
  }
  std::string only;
  std::error_code error;
  for (fs::directory_iterator it(snapshots, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_directory(error)) continue;
    if (!only.empty()) return "";
    only = it->path().string();
  }
  return only;
}

}  // namespace

bool is_weights_name(const std::string& path) {
  static constexpr std::array kEndings = {".safetensors", ".pth", ".pt", ".th", ".bin", ".ckpt"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](const char* ending) { return path.ends_with(ending); });
}

std::string resolve_model(const std::string& folder_or_name, const std::string& argument) {
  if (folder_exists(folder_or_name)) return folder_or_name;
  if (file_exists(folder_or_name)) {
    if (is_weights_name(folder_or_name)) return folder_or_name;
    fail(ErrorKind::usage, "{}: {} is a file; expected a model's folder or name", argument,
         quote(folder_or_name));
  }
  if (!is_hub_name(folder_or_name)) {
    fail(ErrorKind::usage, "{}: no folder {}", argument, quote(folder_or_name));
  }
  std::string repository = "models--" + folder_or_name;
  if (const size_t slash = repository.find('/'); slash != std::string::npos) {
    repository.replace(slash, 1, "--");
  }
  std::vector<std::string> looked = {"./" + folder_or_name};
  for (const fs::path& cache : cache_folders()) {
    const fs::path candidate = cache / repository;
    if (std::string snapshot = snapshot_in(candidate); !snapshot.empty()) return snapshot;
    looked.push_back(candidate.string());
  }
  fail(ErrorKind::usage, "{}: {} not found; nothing is downloaded; looked in {}", argument,
       quote(folder_or_name), fmt::join(looked, ", "));
}

}  // namespace hone::io
