/** A body of JSON. It ends with a line feed, so that a shell's prompt after `curl` has its own line. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
