import { received } from '../../schema.ts';
import type { DialectName, Json, MediaPart, MediaSource } from '../canonical.ts';
import { invalid, untranslatable } from '../refusals.ts';

/** How files are called that a provider already has. */
const FILE = 'ms://';

/** The formats of audio that have another name than their media type. */
const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' };

/**
 * Where media are, from a URL.
 *
 * @param path of the URL in the request
 */
export function sourceOf(url: string, path: string): MediaSource {
  if (url.startsWith(FILE)) return { kind: 'file', id: url };
  const scheme = url.slice(0, 8).toLowerCase();
  if (scheme.startsWith('https://') || scheme.startsWith('http://')) return { kind: 'url', url };
  if (!scheme.startsWith('data:')) {
    throw invalid(
      path,
      `expected a URL of http:, https: or data:, or ms://…, received ${received(url)}`,
    );
  }
  // Not by an expression: the data may have many megabytes.
  const comma = url.indexOf(',');
  const head = comma === -1 ? '' : url.slice('data:'.length, comma);
  const mediaType = head.split(';', 1)[0]!.trim().toLowerCase();
  if (mediaType === '' || !/;\s*base64\s*$/i.test(head)) {
    throw invalid(
      path,
      `expected data:<media type>;base64,<data>, received ${received(url.slice(0, 60))}`,
    );
  }
  return { kind: 'data', mediaType, data: url.slice(comma + 1) };
}

function media(
  kind: MediaPart['media'],
  path: string,
  source: MediaSource,
  { detail, filename }: { detail?: unknown; filename?: unknown } = {},
): MediaPart {
  return {
    type: 'media',
    path,
    media: kind,
    source,
    detail: typeof detail === 'string' ? detail : null,
    filename: typeof filename === 'string' ? filename : null,
  };
}

/** The media of a part of a message; null where it has none. @param part as its schema has it */
export function decodeMedia(part: Json, path: string): MediaPart | null {
  const own = part[part['type'] as string] as Readonly<Record<string, string | undefined>>;
  switch (part['type']) {
    case 'image_url':
      return media('image', path, sourceOf(own['url']!, `${path}.image_url.url`), own);
    case 'video_url':
      return media('video', path, sourceOf(own['url']!, `${path}.video_url.url`));
    case 'input_audio': {
      const { data = '', format = '' } = own;
      const mediaType = Object.hasOwn(AUDIO_TYPES, format)
        ? AUDIO_TYPES[format]!
        : `audio/${format}`;
      return media('audio', path, { kind: 'data', mediaType, data });
    }
    case 'file': {
      const { file_data: data, file_id: id } = own;
      if (data) return media('document', path, sourceOf(data, `${path}.file.file_data`), own);
      if (id) return media('document', path, { kind: 'file', id }, own);
      throw invalid(`${path}.file`, 'expected file_data or file_id, received neither');
    }
    default:
      return null;
  }
}

function dataUrl({ mediaType, data }: { mediaType: string; data: string }): string {
  return `data:${mediaType};base64,${data}`;
}

/** A part of a user's message. @param from the dialect of who sent it */
export function encodeMedia(part: MediaPart, from: DialectName): Json {
  const { media, source, path, detail, filename } = part;
  switch (media) {
    case 'image': {
      const url = urlOf(part);
      return { type: 'image_url', image_url: { url, ...(detail !== null && { detail }) } };
    }
    case 'video':
      return { type: 'video_url', video_url: { url: urlOf(part) } };
    case 'audio': {
      if (source.kind !== 'data') throw untranslatable(path, 'chat');
      const known = Object.keys(AUDIO_TYPES).find((name) => AUDIO_TYPES[name] === source.mediaType);
      const format = known ?? source.mediaType.replace(/^audio\//, '');
      return { type: 'input_audio', input_audio: { data: source.data, format } };
    }
    case 'document': {
      const name = { ...(filename !== null && { filename }) };
      if (source.kind === 'data') {
        // A file without a name is refused.
        return {
          type: 'file',
          file: { filename: 'document', ...name, file_data: dataUrl(source) },
        };
      }
      // Files of the messages format are at Anthropic.
      if (source.kind === 'file' && from !== 'messages') {
        return { type: 'file', file: { file_id: source.id, ...name } };
      }
      throw untranslatable(path, 'chat');
    }
  }
}

function urlOf({ source, path }: MediaPart): string {
  switch (source.kind) {
    case 'url':
      return source.url;
    case 'data':
      return dataUrl(source);
    case 'file':
      if (source.id.startsWith(FILE)) return source.id;
      throw untranslatable(path, 'chat');
  }
}
