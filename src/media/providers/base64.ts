/** The head of a data: URL, as some providers put it before the data. */
const HEAD = /^\s*data:[^,]{0,200};base64,/i;

/** What base64 says, with or without its padding; null where it is none, or says nothing. */
export function bytesOfBase64(text: string): Buffer | null {
  const data = text.slice(HEAD.exec(text.slice(0, 300))?.[0].length ?? 0);
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const digits = data.length - padding;
  if (digits === 0 || digits % 4 === 1 || (padding > 0 && data.length % 4 !== 0)) return null;
  const bytes = Buffer.from(data, 'base64');
  // Node passes over what is no digit; then there are fewer bytes than the digits make.
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : null;
}
