// SPDX-License-Identifier: BSD-3-Clause
// What became of all that a source received: every frame stands in one line.
import type { Ledger } from "../api/messages";

export interface LedgerLine {
  name: string;
  meaning: string;
  count: bigint;
  kind: "decoded" | "filtered" | "dropped" | "missing";
}

export function linesOf(ledger: Ledger): LedgerLine[] {
  const lines: LedgerLine[] = [
    { name: "decoded", meaning: "Read, and handed on.", count: BigInt(ledger.decoded), kind: "decoded" },
    { name: "filtered", meaning: "Left out, as was asked for.", count: BigInt(ledger.filtered), kind: "filtered" },
    ...ledger.dropped.map((drop): LedgerLine => ({
      name: drop.reason, meaning: drop.meaning, count: BigInt(drop.frames), kind: "dropped",
    })),
  ];
  const sum = lines.reduce((total, line) => total + line.count, 0n);
  const rest = BigInt(ledger.received) - sum;
  if (rest !== 0n) {
    // Counters are read one after the other while frames arrive; more than a few is a defect.
    lines.push({ name: "under way", meaning: "Received, and not yet in another line.", count: rest, kind: "missing" });
  }
  return lines.filter((line) => line.count !== 0n || line.kind === "decoded");
}

export function shareOf(count: bigint, of: bigint): number {
  return of === 0n ? 0 : Number((count * 1_000_000n) / of) / 1_000_000;
}
