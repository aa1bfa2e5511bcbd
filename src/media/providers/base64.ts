/** The prefix of a data: URL, which some providers send before the data. */
const DATA_URL_PREFIX = /^\s*data:[^,]{0,200};base64,/i;

/** Decodes base64 with or without padding; null where the text is invalid or empty. */
export function bytesOfBase64(text: string): Buffer | null {
  const data = text.slice(DATA_URL_PREFIX.exec(text.slice(0, 300))?.[0].length ?? 0);
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const digits = data.length - padding;
  if (digits === 0 || digits % 4 === 1 || (padding > 0 && data.length % 4 !== 0)) return null;
  const bytes = Buffer.from(data, 'base64');
  // Buffer skips invalid characters, which shows in the length.
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : null;
}
