#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/byte_source.h"
#include "data/records.h"

namespace hone::prep {

/// The names of what is read of a record.
struct Fields {
  std::string text = "reviewText";
  std::string label = "overall";  ///< empty: records have no labels
};

struct Review {
  std::string_view text;  ///< lives until the next review is read; empty where there is none
  float label = 0;        ///< no number where there are no labels
};

/// Reviews of JSON lines, CSV or TSV, one at a time.
class ReviewStream {
 public:
  /// A longer record is an error: several may be in memory at one time.
  static constexpr size_t kLongestRecord = size_t{8} << 20;

  virtual ~ReviewStream() = default;
  /// Reads the next review; false at the end. A record that is wrong is an error that names file,
  /// line and field. One without the text's field has an empty text.
  virtual bool next(Review& review) = 0;
};

/// Reads a source. `lines_before` are counted before its first line, for errors.
std::unique_ptr<ReviewStream> read_reviews(std::unique_ptr<data::ByteSource> source,
                                           const std::string& name, data::Format format,
                                           const Fields& fields, int64_t lines_before = 0);

/// Reads a label's number; false where it is none.
bool parse_label(std::string_view text, float& label);

}  // namespace hone::prep
