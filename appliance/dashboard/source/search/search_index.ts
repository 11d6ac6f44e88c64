// SPDX-License-Identifier: BSD-3-Clause
// Finds names by their parts: one scan of a text with a line for each name. The browser scans text much
// faster than a list, and an index of n-grams would take longer to build than all searches.

export interface Item {
  kind: string; // "host"
  name: string;
  detail: string; // more text that is searched, for example the scheduler's number of a job
  href: string;
}

// Better matches have smaller ranks.
const kExact = 0, kPrefix = 1, kWordStart = 2, kInside = 3, kInDetail = 4, kRanks = 5;

const kSeparator = /[^\p{L}\p{N}]/u;

function rankOf(line: string, word: string, hasMoreWords: boolean): number {
  const at = line.indexOf(word);
  const nameEnd = line.indexOf("\t");
  if (at >= nameEnd) return kInDetail;
  // "leaf1 7" is not an exact match of "leaf1".
  if (at === 0) return word.length === nameEnd && !hasMoreWords ? kExact : kPrefix;
  return kSeparator.test(line.charAt(at - 1)) ? kWordStart : kInside;
}

export class SearchIndex {
  private readonly text: string; // NAME TAB DETAIL LINEFEED for each item, in lower case
  private readonly starts: Int32Array; // of each line, and the end of the text

  constructor(private readonly items: Item[]) {
    const lines = items.map(({ name, detail }) => `${name}\t${detail}\n`);
    this.text = lines.join("").toLowerCase();
    this.starts = new Int32Array(items.length + 1);
    // Lower case may be longer, so the lengths of the lines are those in the text.
    for (let line = 0, at = 0; line < items.length; ++line) {
      this.starts[line] = at;
      at = this.text.indexOf("\n", at) + 1;
      this.starts[line + 1] = at;
    }
  }

  get size(): number {
    return this.items.length;
  }

  // The best matches of all words of the query, in the order of the items for equal ranks.
  find(query: string, most: number): { items: Item[]; total: number } {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const [first] = words;
    if (first === undefined) return { items: [], total: 0 };
    const rarest = words.reduce((a, b) => (b.length > a.length ? b : a));
    const ranks = Array.from({ length: kRanks }, (): Item[] => []);
    let total = 0;
    for (let at = this.text.indexOf(rarest); at >= 0; ) {
      const line = this.lineAt(at);
      const end = this.starts[line + 1] ?? this.text.length;
      const text = this.text.slice(this.starts[line], end - 1);
      const item = this.items[line];
      if (item && words.every((word) => text.includes(word))) {
        ++total;
        const found = ranks[rankOf(text, first, words.length > 1)];
        if (found && found.length < most) found.push(item);
      }
      at = this.text.indexOf(rarest, end);
    }
    return { items: ranks.flat().slice(0, most), total };
  }

  // The line that contains the position, by bisection.
  private lineAt(position: number): number {
    let [low, high] = [0, this.items.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
