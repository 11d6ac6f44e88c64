// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>

namespace rocescope {

// Of the calling thread, as top -H and gdb show it; at most 15 octets, more is left out.
inline void NameThread(const char* name) {
  char text[16] = {};
  for (int i = 0; i < 15 && name[i] != '\0'; ++i) text[i] = name[i];
  (void)pthread_setname_np(pthread_self(), text);
}

}  // namespace rocescope
