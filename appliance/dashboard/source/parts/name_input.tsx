// SPDX-License-Identifier: BSD-3-Clause
// A text field that completes names. The browser shows the suggestions, which are limited to the best
// matches: a list of 100,000 names would block the page.
import { useMemo, useState } from "preact/hooks";

const kSuggestions = 30;

export interface Name {
  value: string;
  hint?: string; // another text to search in, for example the name of a job
}

// Names that start with the text come before those that contain it.
export function suggest(names: Name[], text: string, most = kSuggestions): Name[] {
  const wanted = text.trim().toLowerCase();
  const [starts, contains]: [Name[], Name[]] = [[], []];
  for (const name of names) {
    if (starts.length >= most) break;
    const [value, hint] = [name.value.toLowerCase(), name.hint?.toLowerCase() ?? ""];
    if (value.startsWith(wanted) || hint.startsWith(wanted)) starts.push(name);
    else if (contains.length < most && (value.includes(wanted) || hint.includes(wanted))) contains.push(name);
  }
  return [...starts, ...contains].slice(0, most);
}

interface Props {
  label: string;
  name: string; // name of the form field
  names: Name[];
  value: string; // from the URL
  placeholder: string;
}

export function NameInput({ label, name, names, value, placeholder }: Props) {
  const [text, setText] = useState(value);
  const suggestions = useMemo(() => suggest(names, text), [names, text]);
  const list = `names-of-${name}`;
  return (
    <>
      <label>
        {label}{" "}
        <input name={name} list={list} defaultValue={value} placeholder={placeholder} autocomplete="off" spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <datalist id={list}>
        {suggestions.map((one) => <option key={one.value} value={one.value}>{one.hint}</option>)}
      </datalist>
    </>
  );
}
