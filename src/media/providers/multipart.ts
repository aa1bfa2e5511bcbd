import { randomBytes } from 'node:crypto';
import type { InputFile } from './provider.ts';

/** One part of a form: a field's text, or a file. */
export type Part = readonly [name: string, value: string | InputFile];

/** What is sent as the body of a request. */
export interface Sent {
  /** The content type. */
  readonly type: string;
  readonly body: string | Buffer;
}

/** A multipart form (RFC 7578), as browsers write it. */
export function formOf(parts: readonly Part[]): Sent {
  // Of 144 random bits: no file can hold it.
  const boundary = `oriel-${randomBytes(18).toString('hex')}`;
  const chunks: Buffer[] = [];
  for (const [name, value] of parts) {
    chunks.push(Buffer.from(`--${boundary}\r\n${headOf(name, value)}\r\n\r\n`));
    chunks.push(typeof value === 'string' ? Buffer.from(value) : bytesOf(value));
    chunks.push(Buffer.from('\r\n'));
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return { type: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(chunks) };
}

function headOf(name: string, value: string | InputFile): string {
  const disposition = `Content-Disposition: form-data; name="${quoted(name)}"`;
  if (typeof value === 'string') return disposition;
  const isType = /^[\w.+-]+\/[\w.+-]+$/.test(value.mediaType);
  const type = isType ? value.mediaType : 'application/octet-stream';
  return `${disposition}; filename="${quoted(value.filename)}"\r\nContent-Type: ${type}`;
}

/** As the HTML standard escapes names in forms: nothing ends the quotes, or the line. */
function quoted(name: string): string {
  return name.replace(/\r/g, '%0D').replace(/\n/g, '%0A').replace(/"/g, '%22');
}

function bytesOf({ bytes }: InputFile): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
