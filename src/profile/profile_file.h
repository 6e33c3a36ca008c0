#pragma once

#include <string>
#include <vector>

#include "profile/recorder.h"
#include "profile/usage.h"

namespace hone::profile {

/// All that a profile says, as files show it.
struct Profile {
  const Recorder& recorder;
  std::vector<UsageSample> samples = {};
  std::vector<std::string> command = {};
  std::string version = {};
};

/// Writes profile.json into a folder that is there.
void write_profile(const std::string& folder, const Profile& profile);

/// Gives stages and the rows that took most as text for a terminal.
std::string profile_text(const Profile& profile);

}  // namespace hone::profile
