#pragma once

#include <string>

#include "profile/recorder.h"
#include "profile/usage.h"

/// Traces that viewers open. Each appears under its name when it is complete.
namespace hone::profile {

/// Writes the TrackEvents of Perfetto, the tracing project: a track
/// a thread, one for the device, and a counter for each number of the samples.
void write_perfetto_trace(const std::string& path, const Recorder& recorder,
                          const std::vector<UsageSample>& samples);

/// Writes Chrome's JSON, compressed by gzip, which most other tools read.
void write_json_trace(const std::string& path, const Recorder& recorder);

}  // namespace hone::profile
