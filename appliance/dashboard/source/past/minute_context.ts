// SPDX-License-Identifier: BSD-3-Clause
import { createContext } from "preact";
import { useContext } from "preact/hooks";

// The selected minute, as nanoseconds since the epoch. Undefined: the present.
export const MinuteContext = createContext<bigint | undefined>(undefined);

export const useMinute = () => useContext(MinuteContext);
