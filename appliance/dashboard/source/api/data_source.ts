// SPDX-License-Identifier: BSD-3-Clause
// The dashboard's data source: a running appliance, or the HTML file that contains the dashboard.
import type { Event as ApplianceEvent } from "./messages";

// An error response of the appliance (Google AIP-193).
export interface ApiError {
  reason: string; // reason in the google.rpc.ErrorInfo, for example "NO_SNAPSHOT_YET"
  message: string;
}

export type Answer =
  | { kind: "answer"; value: unknown }
  | { kind: "refused"; status: number; error: ApiError } // an error response of the appliance
  | { kind: "unreachable"; message: string } // no response
  | { kind: "not_stored"; message: string }; // the file does not contain it

// "steady": recorded data, without a connection.
export type ConnectionState = "connecting" | "open" | "lost" | "steady";

export interface SourceListener {
  event(event: ApplianceEvent): void;
  connection(state: ConnectionState): void;
}

export interface DataSource {
  // False: responses never change.
  readonly live: boolean;
  get(path: string): Promise<Answer>;
  // Sends a change. Undefined: nothing can be changed.
  post?(path: string, body: Record<string, string>): Promise<Answer>;
  // Notifies the listener of events until the returned function is called.
  watch(listener: SourceListener): () => void;
}
