/** A text between single quotes for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text as a word of a POSIX shell, with quotes where it needs them. */
export function wordOf(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : quoted(text);
}
