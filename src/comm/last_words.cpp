#include "comm/last_words.h"

#include <cstdlib>
#include <mutex>
#include <utility>

namespace hone::comm {
namespace {

std::mutex words_mutex;
std::function<void()>* words = nullptr;  // never freed: exit() may run beside other threads

void say_words() {
  std::function<void()> say;
  {
    const std::lock_guard lock(words_mutex);
    if (words) say = *words;
  }
  if (say) say();
}

void set_words(std::function<void()> say) {
  const std::lock_guard lock(words_mutex);
  if (!words) {
    words = new std::function<void()>;
    std::atexit(say_words);
  }
  *words = std::move(say);
}

}  // namespace

LastWords::LastWords(std::function<void()> say) { set_words(std::move(say)); }
LastWords::~LastWords() { set_words({}); }

}  // namespace hone::comm
