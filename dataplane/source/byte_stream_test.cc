// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

using ::testing::HasSubstr;

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void Write(std::string_view text) const {
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Path() const { return "/dev/fd/" + std::to_string(ends[0]); }

  std::array<int, 2> ends{};
};

// Requests the end of all inputs while it exists.
struct EndRequest {
  EndRequest() {
    signal.Write("x");
    EndInputsWhenReadable(signal.ends[0]);
  }
  ~EndRequest() { EndInputsWhenReadable(-1); }

  Pipe signal;
};

TEST(FileStream, ReadsWhatThePipeStillHasAfterARequestToEnd) {
  const Pipe data;
  data.Write("abc");
  const auto stream = OpenFileStream(data.Path());
  ASSERT_TRUE(stream);
  const EndRequest request;
  std::array<uint8_t, 16> bytes{};
  EXPECT_EQ((*stream)->Read(bytes), 3u);
  // The pipe's writer is open but silent, so that the read would block.
  EXPECT_EQ((*stream)->Read(bytes), 0u);
}

TEST(FileStream, EndsAFileAtOnceAfterARequestToEnd) {
  const auto stream = OpenFileStream(test::SourceFile("LICENSE").string());
  ASSERT_TRUE(stream);
  std::array<uint8_t, 16> bytes{};
  EXPECT_EQ((*stream)->Read(bytes), bytes.size());
  EXPECT_FALSE((*stream)->IsInterrupted());
  const EndRequest request;
  EXPECT_EQ((*stream)->Read(bytes), 0u);
  EXPECT_TRUE((*stream)->IsInterrupted());
  EXPECT_EQ((*stream)->EndNote(), "interrupted by a signal");
}

// Address 0 of a process cannot be read.
TEST(FileStream, ReportsAReadError) {
  const auto stream = OpenFileStream("/proc/self/mem");
  if (!stream) GTEST_SKIP() << stream.error().message;
  std::array<uint8_t, 16> bytes{};
  const auto read = (*stream)->Read(bytes);
  if (read) GTEST_SKIP() << "the kernel permits reading address 0";
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(read.error().message, HasSubstr("/proc/self/mem: read error: "));
}

TEST(FileStream, ExplainsTheLimitOfOpenFiles) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto stream = OpenFileStream("/dev/null");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(stream.error().message, HasSubstr("ulimit -n"));
}

TEST(FileStream, RefusesATerminal) {
  if (access("/dev/ptmx", R_OK) != 0) GTEST_SKIP() << "no pseudo-terminals";
  const auto stream = OpenFileStream("/dev/ptmx");
  ASSERT_FALSE(stream);
  EXPECT_THAT(stream.error().message, HasSubstr("is a terminal"));
}

}  // namespace
}  // namespace rocescope
