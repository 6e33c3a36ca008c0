#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/file_calls.h"

namespace hone::train {

/// A disk under a run's folder that goes wrong at one chosen call. It also keeps account of what
/// would survive a loss of power, which is what was synced, and of calls that trust in more.
///
/// A call is known by its kind, its path within the folder and its turn among such calls, so that
/// it is the same one in every run whatever other threads do meanwhile.
class FaultyDisk : public FileCallHook {
 public:
  enum class Fault {
    none,
    fails,  ///< a full disk, which stays full; other calls than writes fail once with EIO
    dies,   ///< the process ends there, and files lose what was not synced
  };
  static constexpr int kDied = 77;  ///< exit code of a process that died so

  explicit FaultyDisk(std::string root, Fault fault = Fault::none, std::string at = {})
      : root_(std::move(root)), fault_(fault), at_(std::move(at)) {
    set_file_call_hook(this);
  }
  ~FaultyDisk() override { set_file_call_hook(nullptr); }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  std::optional<int> before(FileCall call, const std::string& path,
                            const std::string& to) override {
    const std::lock_guard lock(mutex_);
    if (!path.starts_with(root_)) return {};
    const std::string name = fmt::format("{} {}", kind_name(call), normal(path));
    calls_.push_back(fmt::format("{} #{}", name, ++turns_[name]));
    if (calls_.back() == at_) {
      reached_ = true;
      if (fault_ == Fault::dies) die();
      if (fault_ == Fault::fails && !takes_space(call)) return EIO;
    }
    if (reached_ && fault_ == Fault::fails && takes_space(call)) return ENOSPC;
    follow(call, path, to);
    return call == FileCall::sync ? std::optional<int>(0) : std::nullopt;  // it would take long
  }

  /// All calls in their order.
  const std::vector<std::string>& calls() const { return calls_; }
  bool reached() const { return reached_; }
  /// What was made visible, or removed, before what it depends on was on the disk.
  const std::vector<std::string>& mistakes() const { return mistakes_; }
  /// Names that a loss of power would now take back.
  const std::set<std::string>& unsynced_names() const { return unsynced_names_; }

 private:
  static const char* kind_name(FileCall call) {
    constexpr const char* kNames[] = {"create", "make_folder", "write", "sync",
                                      "rename", "remove",      "link"};
    return kNames[static_cast<size_t>(call)];
  }
  static bool takes_space(FileCall call) {
    return call == FileCall::create || call == FileCall::make_folder || call == FileCall::write;
  }
  static bool is_within(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
  }
  static bool is_partial(const std::string& path) {
    return path.find(".partial-") != std::string::npos;
  }

  /// The path without what differs between processes.
  std::string normal(const std::string& path) const {
    std::string text = path.substr(root_.size());
    const std::string process = std::to_string(::getpid());
    for (size_t at; (at = text.find(".partial-" + process)) != std::string::npos;) {
      text.erase(at + 8, 1 + process.size());
    }
    const size_t events = text.find("events.out");
    return events == std::string::npos ? text : text.substr(0, events + 6);
  }

  [[noreturn]] void die() const {
    for (const std::string& path : unsynced_files_) {
      if (::truncate(path.c_str(), 0) != 0) continue;  // removed meanwhile
    }
    ::_exit(kDied);
  }

  void follow(FileCall call, const std::string& path, const std::string& to) {
    switch (call) {
      case FileCall::write:
        unsynced_files_.insert(path);
        break;
      case FileCall::sync:
        unsynced_files_.erase(path);
        unsynced_folders_.erase(path);
        std::erase_if(unsynced_names_, [&](const auto& name) { return folder_of(name) == path; });
        break;
      case FileCall::rename:
        follow_rename(path, to);
        break;
      case FileCall::remove:
        for (const std::string& name : unsynced_names_) {
          if (path != name && is_within(path, name)) mistake("removed from", name);
        }
        unsynced_files_.erase(path);
        unsynced_folders_.erase(path);
        break;
      case FileCall::link:
        if (unsynced_files_.contains(path)) mistake("linked", path);
        unsynced_folders_.insert(folder_of(to));
        break;
      default:
        unsynced_folders_.insert(folder_of(path));
    }
  }

  void follow_rename(const std::string& path, const std::string& to) {
    for (const std::set<std::string>* set : {&unsynced_files_, &unsynced_folders_}) {
      for (const std::string& each : *set) {
        if (!is_partial(to) && is_within(each, path)) mistake("made visible", each);
      }
    }
    const bool removes = is_partial(to) && !is_partial(path);
    for (const std::string& name : unsynced_names_) {
      if (removes && folder_of(name) == folder_of(to)) mistake("an older one removed", name);
    }
    for (std::set<std::string>* set : {&unsynced_files_, &unsynced_folders_}) {
      std::set<std::string> moved;
      for (const std::string& each : *set) {
        moved.insert(is_within(each, path) ? to + each.substr(path.size()) : each);
      }
      *set = std::move(moved);
    }
    unsynced_names_.insert(to);
    unsynced_folders_.insert(folder_of(to));
  }

  void mistake(const char* what, const std::string& path) {
    mistakes_.push_back(fmt::format("{} before it was synced: {}", what, normal(path)));
  }

  std::string root_;
  Fault fault_;
  std::string at_;
  std::mutex mutex_;
  std::map<std::string, int> turns_;
  std::vector<std::string> calls_;
  std::vector<std::string> mistakes_;
  bool reached_ = false;
  std::set<std::string> unsynced_files_;
  std::set<std::string> unsynced_folders_;  ///< folders whose names changed
  std::set<std::string> unsynced_names_;    ///< names that renames gave
};

}  // namespace hone::train
