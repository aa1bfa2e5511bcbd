/** Multipart forms as clients of all kinds write them. */
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { readArchive } from '../../cli/archive.ts';
import { KEYS, type TestServer } from '../test-server.ts';

const BOUNDARY = 'a-boundary';

export interface PartSource {
  /** The part's headers, without the last line end. */
  readonly headers: string;
  readonly body: string | Uint8Array;
}

export function filePart(filename: string, body: string | Uint8Array, name = 'files'): PartSource {
  const disposition = `Content-Disposition: form-data; name="${name}"; filename="${filename}"`;
  return { headers: `${disposition}\r\nContent-Type: application/octet-stream`, body };
}

export function fieldPart(name: string, body: string): PartSource {
  return { headers: `Content-Disposition: form-data; name="${name}"`, body };
}

/** A body as browsers write it. */
export function bodyOf(parts: readonly PartSource[]): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ headers, body }) => [
      Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\n`),
      Buffer.from(body as string),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly json: {
    readonly error?: { type: string; code: string; param: string; message: string };
  };
  readonly bytes: Buffer;
}

export interface SendOptions {
  readonly key?: string | null;
  readonly type?: string | null;
  readonly signal?: AbortSignal;
}

/** Posts a body to an endpoint and takes the whole answer. */
export async function send(
  { url }: TestServer,
  endpoint: string,
  body: Buffer | FormData | ReadableStream,
  { key = KEYS.a, type = FORM_TYPE, signal }: SendOptions = {},
): Promise<Sent> {
  const headers = new Headers();
  if (key !== null) headers.set('authorization', `Bearer ${key}`);
  if (type !== null && !(body instanceof FormData)) headers.set('content-type', type);
  const response = await fetch(`${url}/api/free/${endpoint}`, {
    method: 'POST',
    headers,
    body: body as never,
    duplex: 'half',
    ...(signal && { signal }),
  } as RequestInit);
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    json: isJson ? JSON.parse(bytes.toString()) : {},
  };
}

/** A form as undici writes it. */
export function formOf(
  files: Readonly<Record<string, Uint8Array>>,
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const form = new FormData();
  for (const [name, bytes] of Object.entries(files)) {
    form.append('files', new Blob([new Uint8Array(bytes)]), name);
  }
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

/** The head of a request for those who write the rest by hand. */
export function headOf(endpoint: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({
    Host: 'localhost',
    Authorization: `Bearer ${KEYS.a}`,
    'Content-Type': FORM_TYPE,
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /api/free/${endpoint} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** The files of a ZIP by name. */
export function entriesOf(archive: Buffer): Record<string, Buffer> {
  return Object.fromEntries(readArchive(archive).map(({ name, bytes }) => [name, bytes]));
}

/** The manifest of a ZIP. */
export function manifestOf(entries: Readonly<Record<string, Buffer>>) {
  return JSON.parse(String(entries['manifest.json'])) as BatchResult & { parameters: object };
}

/** Usage of account a by model. */
export async function usageOf({ url }: TestServer): Promise<object[]> {
  const headers = { authorization: `Bearer ${KEYS.a}` };
  const response = await fetch(`${url}/v1/account/usage?by=model`, { headers });
  return ((await response.json()) as { data: object[] }).data;
}
