import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import type { TextCall } from './execution.ts';

interface FileContent {
  readonly filename: string;
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

/** The files that clients have uploaded to this server. */
export interface FileContents {
  /**
   * Reads files of an account into memory, until they are released.
   *
   * @param ids with the parameter that names each
   * @returns the contents, and the bytes that they add to a request
   * @throws Failure 404 `file_not_found`; 413 where they have more bytes than a request may have
   */
  open(
    accountId: string,
    ids: ReadonlyMap<string, string>,
    maxBytes: number,
  ): Promise<{
    readonly contents: ReadonlyMap<string, FileContent>;
    readonly bytes: number;
    readonly release: () => void;
  }>;
}

/** Identifiers of files of this server, which no provider knows. */
const OWN_FILE = /^(?:(?:https?:\/\/\S+\/v1beta\/)?files\/)?(file_[0-9A-Za-z]{20})$/;

/** The file that a part of a request names in one of the formats of clients; null for another part. */
function fileIn({ type, file_id, file, source, fileData, file_data }: Json): string | null {
  const member = (holder: unknown, name: string) => isObject(holder) && holder[name];
  const id =
    ((type === 'input_image' || type === 'input_file') && file_id) ||
    (type === 'file' && member(file, 'file_id')) ||
    ((type === 'image' || type === 'document') && member(source, 'file_id')) ||
    member(fileData, 'fileUri') ||
    member(file_data, 'file_uri');
  return (typeof id === 'string' && OWN_FILE.exec(id)?.[1]) || null;
}

/** The part with the content of its file. */
function withContent(part: Json, { filename, mediaType, data }: FileContent): Json {
  const { file_id: _, file: __, source: ___, fileData, file_data, ...rest } = part;
  const url = `data:${mediaType};base64,${data}`;
  switch (rest['type']) {
    case 'input_image':
      return { ...rest, image_url: url };
    case 'input_file':
      return { filename, ...rest, file_data: url };
    case 'file':
      return mediaType.startsWith('image/')
        ? { ...rest, type: 'image_url', image_url: { url } }
        : { ...rest, file: { filename, file_data: url } };
    case 'image':
    case 'document': {
      if (!mediaType.startsWith('text/')) {
        return { ...rest, source: { type: 'base64', media_type: mediaType, data } };
      }
      const text = Buffer.from(data, 'base64').toString();
      const source = { type: 'text', media_type: 'text/plain', data: text };
      return { title: filename, ...rest, source };
    }
    default: {
      const {
        fileUri,
        file_uri,
        mime_type = mediaType,
        ...given
      } = (fileData ?? file_data) as Json;
      return { ...rest, inlineData: { mimeType: mime_type, ...given, data } };
    }
  }
}

/** A copy of a JSON value in which parts with a file are replaced; the value itself where there are none. */
function mapped(
  value: unknown,
  path: string,
  replace: (id: string, part: Json, path: string) => Json,
): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isObject(value)) {
    const id = fileIn(value);
    if (id !== null) return replace(id, value, path);
  }
  let copy: Record<string, unknown> | unknown[] | null = null;
  for (const name in value) {
    const member = (value as Json)[name];
    const place = Array.isArray(value)
      ? `${path}[${name}]`
      : path === ''
        ? name
        : `${path}.${name}`;
    const next = mapped(member, place, replace);
    if (next === member) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    (copy as Record<string, unknown>)[name] = next;
  }
  return copy ?? value;
}

/** A call whose body has the content of the files that it names, since no provider knows them. */
export async function insertFiles(
  call: TextCall,
  files: FileContents,
  maxBytes: () => number,
): Promise<{ readonly call: TextCall; readonly release: () => void }> {
  const ids = new Map<string, string>();
  let count = 0;
  mapped(call.body, '', (id, part, path) => {
    count += 1;
    ids.set(id, path);
    return part;
  });
  if (count === 0) return { call, release: () => {} };
  // A file that the request names more than once is in it as often.
  const most = Math.floor(maxBytes() / count) * ids.size;
  const { contents, bytes, release } = await files.open(call.holder.account.id, ids, most);
  const body = mapped(call.body, '', (id, part) => withContent(part, contents.get(id)!));
  return { call: { ...call, body, bytes: call.bytes && call.bytes + bytes }, release };
}
