#include "study/record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/file_calls.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "report/json_lines_file.h"
#include "report/records.h"

namespace hone::study {

OrderedJson to_json(const Record& record) {
  OrderedJson json = {
      {"format", report::kNewestRecords}, {"study", record.study},     {"case", record.fields},
      {"repeat", record.repeat},          {"seed", record.seed},       {"command", record.command},
      {"version", record.version},        {"machine", record.machine}, {"metrics", record.metrics},
      {"status", record.status}};
  if (!record.curves.empty()) json["curves"] = record.curves;
  if (!record.why.empty()) json["why"] = record.why;
  return json;
}

Json machine_facts() {
  Json machine = {{"processor", cpu_info().name},
                  {"cores", usable_cores()},
                  {"instruction_set", isa_name(chosen_isa())},
                  {"memory_bytes", static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<uint64_t>(::sysconf(_SC_PAGESIZE))}};
  const CudaInfo& cuda = cuda_info();
  if (!cuda.devices.empty()) {
    machine["gpu"] = cuda.devices.front().name;
    machine["gpus"] = cuda.devices.size();
  }
  return machine;
}

RecordFile::RecordFile(const std::string& path) : path_(path) {
  if (file_exists(path)) read();
  fd_ = create_file(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail(ErrorKind::io, "{}: cannot open: {}", path, std::strerror(errno));
}

RecordFile::~RecordFile() { ::close(fd_); }

std::string RecordFile::key(const Json& record) {
  Json machine = record.value("machine", Json::object());
  if (machine.is_object()) machine.erase("memory_bytes");  // it varies with what the system keeps
  return Json({record.value("study", Json()), record.value("case", Json()),
               record.value("repeat", Json()), std::move(machine)})
      .dump();
}

void RecordFile::read() {
  const std::string text = read_file(path_);
  const size_t whole = text.empty() ? 0 : text.rfind('\n') + 1;  // npos + 1 is 0
  if (whole < text.size()) {
    dropped_ = fmt::format("{}: the last line was cut off and is dropped", path_);
    if (::truncate(path_.c_str(), static_cast<off_t>(whole)) != 0) {
      fail(ErrorKind::io, "{}: cannot cut: {}", path_, std::strerror(errno));
    }
  }
  std::vector<report::StudyRuns> checked;
  size_t line = 0;
  for (const Json& record : report::read_json_lines(path_)) {
    report::add_record(record, fmt::format("{}: line {}", path_, ++line), checked);
    const Json command = record.value("command", Json(""));
    commands_[key(record)] = command.is_string() ? command.get<std::string>() : command.dump();
  }
}

bool RecordFile::has(const Record& record) const {
  const auto found = commands_.find(key(Json(to_json(record))));
  if (found == commands_.end()) return false;
  if (found->second != record.command) {
    fail(ErrorKind::usage,
         "{}: holds {} of other settings ({}); choose another folder, or the settings of then",
         path_, record.fields.dump(), quote(found->second));
  }
  return true;
}

void RecordFile::append(const Record& record) {
  const OrderedJson json = to_json(record);
  const std::string line = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  if (!write_bytes(fd_, path_, line) || !sync_file(fd_, path_)) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, std::strerror(errno));
  }
  commands_[key(Json(json))] = record.command;
}

}  // namespace hone::study
