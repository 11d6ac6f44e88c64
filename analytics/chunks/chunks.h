// SPDX-License-Identifier: BSD-3-Clause
// A sorted sequence in immutable chunks. A new version shares all unchanged chunks with the
// previous one, so keeping an old version is free and creating a new one costs time proportional to
// the change. It reads like a const std::vector, except that operator[] takes O(log(number of
// chunks)).
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace rocescope {

template <typename T>
class Chunks {
 public:
  using value_type = T;
  using Chunk = std::vector<T>;

  // A chunk ends at a key boundary once it has this many elements. This is small enough to keep a
  // change cheap, and large enough to make the chunk's overhead of about 90 bytes negligible.
  static constexpr size_t kFull = 64;

  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    Iterator(const Chunks* all, size_t index) : all_(all), index_(index) { Locate(); }

    reference operator*() const { return *at_; }
    pointer operator->() const { return at_; }
    reference operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator++() {
      ++index_;
      if (++at_ == end_) Locate();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    Iterator& operator--() { return *this -= 1; }
    Iterator operator--(int) {
      const Iterator before = *this;
      --*this;
      return before;
    }
    Iterator& operator+=(difference_type n) {
      index_ = static_cast<size_t>(static_cast<difference_type>(index_) + n);
      Locate();
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
    friend Iterator operator+(difference_type n, Iterator at) { return at += n; }
    friend Iterator operator-(Iterator at, difference_type n) { return at -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }
    friend auto operator<=>(const Iterator& a, const Iterator& b) { return a.index_ <=> b.index_; }

   private:
    void Locate() {
      at_ = end_ = nullptr;
      if (all_ == nullptr || index_ >= all_->size()) return;
      const size_t chunk = all_->ChunkOf(index_);
      at_ = all_->chunks_[chunk]->data() + (index_ - all_->starts_[chunk]);
      end_ = all_->chunks_[chunk]->data() + all_->chunks_[chunk]->size();
    }

    const Chunks* all_ = nullptr;
    size_t index_ = 0;
    const T* at_ = nullptr;
    const T* end_ = nullptr;  // end of the current chunk
  };
  using const_iterator = Iterator;

  Chunks() = default;
  // `all` must be sorted; it becomes one chunk.
  Chunks(std::vector<T> all) {  // NOLINT(google-explicit-constructor): a vector is one chunk
    if (!all.empty()) Append(std::make_shared<const Chunk>(std::move(all)));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }
  const T& front() const { return chunks_.front()->front(); }
  const T& back() const { return chunks_.back()->back(); }
  const T& operator[](size_t index) const {
    const size_t chunk = ChunkOf(index);
    return (*chunks_[chunk])[index - starts_[chunk]];
  }
  // Throws std::out_of_range, as std::vector does.
  const T& at(size_t index) const {
    const size_t chunk = index < size_ ? ChunkOf(index) : chunks_.size();
    return chunks_.at(chunk)->at(index - starts_.at(chunk));
  }
  std::span<const std::shared_ptr<const Chunk>> chunks() const { return chunks_; }

  // Returns the first element whose key is not less than `key`.
  template <typename Key, typename KeyOf>
  Iterator LowerBound(const Key& key, KeyOf key_of) const {
    const auto at = std::ranges::lower_bound(
        chunks_, key, {}, [&](const auto& chunk) { return std::invoke(key_of, chunk->back()); });
    if (at == chunks_.end()) return end();
    const auto found = std::ranges::lower_bound(**at, key, {}, key_of);
    return {this, starts_[static_cast<size_t>(at - chunks_.begin())] +
                      static_cast<size_t>(found - (*at)->begin())};
  }

  // Returns the first element with this key, or nullptr.
  template <typename Key, typename KeyOf>
  const T* Find(const Key& key, KeyOf key_of) const {
    const Iterator at = LowerBound(key, key_of);
    return at != end() && std::invoke(key_of, *at) == key ? &*at : nullptr;
  }

  // Returns the next version: removes all elements whose key is in `keys` (sorted, unique) and
  // inserts the sorted `fresh`, whose keys must all be in `keys`. `key_of` is the primary sort key
  // of the sequence.
  template <typename Key, typename KeyOf>
  Chunks With(const std::vector<Key>& keys, std::vector<T> fresh, KeyOf key_of) const {
    Chunks next;
    next.chunks_.reserve(chunks_.size() + fresh.size() / kFull + 1);
    next.starts_.reserve(next.chunks_.capacity());
    size_t key = 0;
    size_t taken = 0;  // number of elements taken from `fresh`
    Chunk open;        // elements that are too few for a chunk
    const auto put_fresh_below = [&](const auto* bound) {
      while (taken < fresh.size() &&
             (bound == nullptr || std::invoke(key_of, fresh[taken]) < *bound)) {
        open.push_back(std::move(fresh[taken++]));
      }
    };
    for (size_t i = 0; i < chunks_.size(); ++i) {
      const bool is_last = i + 1 == chunks_.size();
      size_t end = keys.size();
      if (!is_last) {
        const auto& bound = std::invoke(key_of, chunks_[i + 1]->front());
        end = static_cast<size_t>(
            std::lower_bound(keys.begin() + static_cast<std::ptrdiff_t>(key), keys.end(), bound) -
            keys.begin());
      }
      if (end == key && (open.empty() || open.size() >= kFull / 2)) {
        next.Cut(std::exchange(open, {}), key_of);
        next.Append(chunks_[i]);
        continue;
      }
      for (const T& old : *chunks_[i]) {
        const auto& own = std::invoke(key_of, old);
        put_fresh_below(&own);
        while (key < end && keys[key] < own) ++key;
        if (key == end || keys[key] != own) open.push_back(old);
      }
      // Keys equal to the last element's key have been handled, too.
      key = end;
      if (is_last) {
        put_fresh_below(static_cast<const Key*>(nullptr));
      } else {
        const auto& bound = std::invoke(key_of, chunks_[i + 1]->front());
        put_fresh_below(&bound);
      }
      if (open.size() >= 2 * kFull) next.Cut(std::exchange(open, {}), key_of);
    }
    put_fresh_below(static_cast<const Key*>(nullptr));
    next.Cut(std::move(open), key_of);
    return next;
  }

 private:
  size_t ChunkOf(size_t index) const {
    return static_cast<size_t>(std::ranges::upper_bound(starts_, index) - starts_.begin()) - 1;
  }

  void Append(std::shared_ptr<const Chunk> chunk) {
    starts_.push_back(size_);
    size_ += chunk->size();
    chunks_.push_back(std::move(chunk));
  }

  // Cuts into chunks of kFull elements; a chunk is longer if more elements share its last key.
  template <typename KeyOf>
  void Cut(Chunk all, KeyOf key_of) {
    for (size_t begin = 0; begin < all.size();) {
      size_t end = std::min(begin + kFull, all.size());
      if (all.size() - end < kFull / 2) end = all.size();
      while (end < all.size() &&
             std::invoke(key_of, all[end]) == std::invoke(key_of, all[end - 1])) {
        ++end;
      }
      const auto at = [&](size_t i) {
        return std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(i));
      };
      Append(std::make_shared<const Chunk>(at(begin), at(end)));
      begin = end;
    }
  }

  std::vector<std::shared_ptr<const Chunk>> chunks_;  // never empty
  std::vector<size_t> starts_;  // parallel to chunks_: index of each chunk's first element
  size_t size_ = 0;
};

}  // namespace rocescope
