// SPDX-License-Identifier: BSD-3-Clause
// Blocks of link minutes of the history: damaged bytes are an error, and minutes that were stored
// are restored exactly. Byte 0 below 85: the rest is a block. Below 170: the rest is the content of
// the frames of a block, which this program compresses. Otherwise: minutes that are added.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "appliance/daemon/history/link_block.h"
#include "tests/fuzz/require.h"

namespace rocescope {
namespace {

constexpr size_t kMaskBytes = kLinksPerBlock / 8;

// Takes values from the input; zeros after its end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }
  std::string Text(size_t size) {
    size = std::min(size, bytes_.size());
    std::string text(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(size));
    bytes_ = bytes_.subspan(size);
    return text;
  }
  uint64_t Number(size_t size) {
    std::string text = Text(size);
    text.resize(sizeof(uint64_t), '\0');
    uint64_t number = 0;
    std::memcpy(&number, text.data(), sizeof number);
    return number;
  }

 private:
  std::span<const uint8_t> bytes_;
};

std::string WithFrames(Input in) {
  Compressor compressor;
  const auto frame = [&](size_t size) {
    std::string content = in.Text(size);
    content.resize(size, '\0');
    const std::string packed = compressor.Compress(content);
    std::string out;
    for (size_t i = 0; i < 4; ++i) out += static_cast<char>(packed.size() >> 8 * i);
    return out + packed;
  };
  std::string block(1, static_cast<char>(in.Number(1)));
  std::string links = in.Text(kMaskBytes);
  links.resize(kMaskBytes, '\0');
  size_t rows = 0;
  for (const char byte : links) rows += std::popcount(static_cast<unsigned char>(byte));
  const size_t cells = rows * kMinutesPerBlock;
  block += links + frame((cells + 7) / 8) + frame(rows * sizeof(double));
  for (size_t column = 0; column < static_cast<size_t>(LinkColumn::kCount); ++column) {
    const auto coding = static_cast<char>(in.Number(1));
    block += coding;
    if (coding == 0) {
      std::string value = in.Text(sizeof(uint64_t));
      value.resize(sizeof(uint64_t), '\0');
      block += value;
    } else {
      const size_t planes = in.Number(1) % 9;
      block += static_cast<char>(planes) + frame(planes * cells);
    }
  }
  return block;
}

// Compares the bits of doubles, so that NaN equals itself.
bool IsSame(LinkMinute a, LinkMinute b) {
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  if (bits(a.use_sum) != bits(b.use_sum) || bits(a.use_most) != bits(b.use_most)) return false;
  a.use_sum = b.use_sum = a.use_most = b.use_most = 0;
  return a == b;
}

void CheckRoundTrip(Input in) {
  LinkBlockBuilder builder;
  std::map<std::pair<size_t, size_t>, LinkMinute> added;
  while (!in.is_empty()) {
    const std::pair<size_t, size_t> at = {in.Number(1) % kLinksPerBlock,
                                          in.Number(1) % kMinutesPerBlock};
    const size_t width = in.Number(1) % 9;
    const LinkMinute minute = {.windows = static_cast<uint32_t>(in.Number(2)),
                               .use_windows = static_cast<uint32_t>(in.Number(2)),
                               .use_sum = std::bit_cast<double>(in.Number(width)),
                               .use_most = std::bit_cast<double>(in.Number(width)),
                               .bytes = in.Number(width),
                               .marked = in.Number(width / 2),
                               .dropped = in.Number(width / 2),
                               .paused_ns = in.Number(width),
                               .peak_bytes = in.Number(width),
                               .errors = in.Number(width)};
    if (!added.contains(at)) {  // sums of doubles depend on their order
      builder.Add(at.first, at.second, minute);
      added[at] = minute;
    }
  }
  Compressor compressor;
  Decompressor decompressor;
  const std::string bytes = builder.Write(compressor);
  const auto block = LinkBlock::Parse(bytes, decompressor);
  Require(block.has_value(), "a block that was written can be read");
  for (size_t link = 0; link < kLinksPerBlock; ++link) {
    for (size_t minute = 0; minute < kMinutesPerBlock; ++minute) {
      const auto found = block->Find(link, minute);
      const auto expected = added.find({link, minute});
      Require(found.has_value() == (expected != added.end()), "the same cells have values");
      Require(!found || IsSame(*found, expected->second), "values are restored exactly");
    }
  }
  if (!added.empty()) {
    const auto& [at, minute] = *added.begin();
    for (const BlockPart& part : {BlockPart{.link = at.first}, BlockPart{.minute = at.second}}) {
      const auto alone = LinkBlock::Parse(bytes, decompressor, part);
      Require(alone.has_value(), "a part of the block can be read");
      const auto found = alone->Find(at.first, at.second);
      Require(found && IsSame(*found, minute), "the part has the same values");
    }
  }
}

void CheckAnyBytes(const std::string& bytes) {
  Decompressor decompressor;
  constexpr size_t kLink = 1;
  constexpr size_t kMinute = 7;
  const auto block = LinkBlock::Parse(bytes, decompressor);
  const auto of_link = LinkBlock::Parse(bytes, decompressor, {.link = kLink});
  const auto of_minute = LinkBlock::Parse(bytes, decompressor, {.minute = kMinute});
  Require(block || !block.error().message.empty(), "an error has a message");
  if (!block || !of_link || !of_minute) return;
  const auto check = [](const std::optional<LinkMinute>& a, const std::optional<LinkMinute>& b) {
    Require(a.has_value() == b.has_value(), "a part has the same cells");
    Require(!a || IsSame(*a, *b), "a part has the same values");
  };
  for (size_t minute = 0; minute < kMinutesPerBlock; ++minute) {
    check(block->Find(kLink, minute), of_link->Find(kLink, minute));
  }
  for (size_t link = 0; link < kLinksPerBlock; ++link) {
    check(block->Find(link, kMinute), of_minute->Find(link, kMinute));
  }
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  const Input rest(std::span(data + 1, size - 1));
  if (data[0] < 85) {
    CheckAnyBytes(std::string(data + 1, data + size));
  } else if (data[0] < 170) {
    CheckAnyBytes(WithFrames(rest));
  } else {
    CheckRoundTrip(rest);
  }
  return 0;
}
