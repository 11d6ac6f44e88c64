// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>

namespace rocescope {

// Sets the name of the calling thread that top -H and gdb show. Names longer than 15 bytes are cut.
inline void NameThread(const char* name) {
  char text[16] = {};
  for (int i = 0; i < 15 && name[i] != '\0'; ++i) text[i] = name[i];
  (void)pthread_setname_np(pthread_self(), text);
}

}  // namespace rocescope
