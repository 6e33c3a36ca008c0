#pragma once

/// Whether the tests run under the address or the thread sanitizer, which keep freed memory and
/// take a great deal of their own: what a process has resident says nothing there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HONE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HONE_SANITIZED 1
#endif
#endif

#ifdef HONE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
