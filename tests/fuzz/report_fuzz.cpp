// layers: report
// An input is three files, divided at its first two zero bytes: log.jsonl, profile.json and
// records.jsonl.
#include <string_view>

#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"
#include "report/report.h"

namespace {

size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hone::ScratchFolder folder;
  const auto parts = hone::split_input({reinterpret_cast<const char*>(data), size}, 3);
  const char* names[] = {"/log.jsonl", "/profile.json", "/records.jsonl"};
  for (size_t i = 0; i < parts.size(); ++i) hone::put_file(folder.path() + names[i], parts[i]);
  hone::accepts(folder.path(), [&] {
    const hone::report::Report report = hone::report::read_report(folder.path());
    const std::string page = hone::report::to_html(report);
    // A page's data and its script are all the scripts there are.
    if (occurrences(page, "<script") != 2 || occurrences(page, "</script") != 2) std::abort();
    hone::report::to_latex(report);
    hone::report::to_csv(report);
  });
  return 0;
}
