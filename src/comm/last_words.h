#pragma once

#include <functional>

namespace hone::comm {

/// While it lives, `say` is called where another part of the process calls exit(), as MPI's runtime
/// does when it hears of a lost process before others have said which. There is one at a time.
class LastWords {
 public:
  explicit LastWords(std::function<void()> say);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

}  // namespace hone::comm
