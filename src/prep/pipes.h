#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/records.h"
#include "prep/prep.h"

namespace hone::prep {

/// Takes a line of output, with its end.
using TakeLine = std::function<void(std::string_view line)>;

/// The two halves of a preparation whose shuffle is somebody else's: Spark's pipe, Hadoop's
/// streaming. A line between them is the hash of a cleaned text as 32 hexadecimal digits, a tab,
/// the label, a tab, and the text: its words, or its ids where the options name a vocabulary or a
/// tokenizer. Sorted by their first field, lines are in the order of a store's rows.

/// Reads records and gives a line for each that has words.
void map_lines(std::unique_ptr<data::ByteSource> source, const std::string& name,
               const PrepOptions& options, const TakeLine& take);
/// Reads such lines, those of one hash behind one another, and gives each text once, in their
/// order: the label is the commonest of its copies, the lower of two that are as common. Words
/// become ids where the options name a vocabulary or a tokenizer.
void reduce_lines(std::unique_ptr<data::ByteSource> source, const std::string& name,
                  const PrepOptions& options, const TakeLine& take);

}  // namespace hone::prep
