// layers: study
// An input is four files, divided at its first three zero bytes: prices as JSON and as CSV, what a
// kilowatt hour emits, and records of a study.
#include "fuzz/refusal.h"
#include "fuzz/scratch_folder.h"
#include "study/energy.h"
#include "study/money.h"
#include "study/record_file.h"
#include "study/simulate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const ScratchFolder folder;
  const auto parts = split_input({reinterpret_cast<const char*>(data), size}, 4);
  const char* names[] = {"/prices.json", "/prices.csv", "/carbon.json", "/records.jsonl"};
  for (size_t i = 0; i < parts.size(); ++i) put_file(folder.path() + names[i], parts[i]);
  accepts(folder.path(), [&] { study::read_prices(folder.path() + names[0]); });
  accepts(folder.path(), [&] { study::read_prices(folder.path() + names[1]); });
  accepts(folder.path(), [&] { study::read_carbon(folder.path() + names[2]); });
  accepts("", [&] {
    const auto studies = report::read_records({folder.path() + names[3]});
    study::choices_of(studies, {{"", 1, "EUR", "", ""}});
    study::section_of(study::simulate(study::measured_steps(studies)));
  });
  accepts("", [&] { const study::RecordFile opened(folder.path() + names[3]); });
  return 0;
}
