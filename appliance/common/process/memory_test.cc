// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace rocescope {
namespace {

TEST(Memory, FreedMemoryReturnsToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer replaces the allocator";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer replaces the allocator";
#endif
#endif
  constexpr size_t kPiece = 64 << 10;
  constexpr size_t kPieces = 4096;  // 256 MiB
  const uint64_t heap_before = HeapBytes();
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t i = 0; i < kPieces; ++i) {
    pieces.push_back(std::make_unique<char[]>(kPiece));
    std::memset(pieces.back().get(), 1, kPiece);
  }
  EXPECT_GE(HeapBytes(), heap_before + kPieces * kPiece);
  const uint64_t full = ResidentBytes();
  ASSERT_GT(full, kPieces * kPiece);
  // The last piece prevents the allocator from shrinking the heap by itself.
  for (size_t i = 0; i + 1 < kPieces; ++i) pieces[i].reset();
  EXPECT_GT(ReturnFreeMemory(), kPieces * kPiece / 2);
  EXPECT_LT(ResidentBytes(), full - kPieces * kPiece / 2);
}

}  // namespace
}  // namespace rocescope
