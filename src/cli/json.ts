/**
 * JSON on one line. Where it lands on a terminal, no name in it may command that: the controls that
 * JSON itself lets pass stand as escapes too.
 */
export function jsonText(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
