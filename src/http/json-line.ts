/** A JSON body. It ends with a line feed, so that the shell's prompt after `curl` is on its own line. */
export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
