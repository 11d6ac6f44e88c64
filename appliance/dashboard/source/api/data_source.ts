// SPDX-License-Identifier: BSD-3-Clause
// Where the pages get answers from: a running box, or the file that they stand in.
import type { ApiError, BoxEvent } from "./messages";

export type Answer =
  | { kind: "answer"; value: unknown }
  | { kind: "refused"; status: number; error: ApiError } // by the box, with its reasons
  | { kind: "unreachable"; message: string } // nobody answered
  | { kind: "not_stored"; message: string }; // the file does not have it, and never will

// "steady": there is no connection to lose.
export type ConnectionState = "connecting" | "open" | "lost" | "steady";

export interface SourceListener {
  event(event: BoxEvent): void;
  connection(state: ConnectionState): void;
}

export interface DataSource {
  // False: answers never change.
  readonly live: boolean;
  get(path: string): Promise<Answer>;
  // Tells the listener of events until the function that it returns is called.
  watch(listener: SourceListener): () => void;
}
