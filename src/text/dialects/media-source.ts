import { quoteValue } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { nonEmptyTextOf } from '../../schema/untrusted.ts';
import { words } from '../../words.ts';
import { FILE_SCHEME, type MediaPart, type MediaSource } from '../canonical/canonical.ts';

/** Media types by the extension of a URL's path, which is all that an address says of its content. */
const TYPES: Readonly<Record<string, string>> = {
  ...typesOf('audio', 'aac aiff flac ogg wav'),
  ...typesOf('image', 'gif heic heif jpeg png webp'),
  ...typesOf('text', 'csv html xml'),
  ...typesOf('video', 'avi mov mp4 mpeg mpg webm wmv'),
  ...typesOf('application', 'json pdf'),
  ...{ htm: 'text/html', md: 'text/markdown', txt: 'text/plain' },
  ...{ jpg: 'image/jpeg', mp3: 'audio/mpeg' },
};

/** The types of a kind whose names are their extensions. */
function typesOf(kind: string, extensions: string) {
  return Object.fromEntries(words(extensions).map((one) => [one, `${kind}/${one}`]));
}

/** Hosts whose videos Gemini reads by address, whatever their type. */
export const VIDEO_HOSTS = new Set(['www.youtube.com', 'youtube.com', 'm.youtube.com', 'youtu.be']);

/** The media type that the extension of a path stands for; null for none. */
export function mediaTypeOfAddress(pathname: string): string | null {
  const extension = /\.([a-z0-9]+)$/i.exec(pathname)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(TYPES, extension) ? TYPES[extension]! : null;
}

/** The media type of a source as far as it says one; null for none. */
export function mediaTypeOf(source: MediaSource): string | null {
  if (source.kind === 'data') return source.mediaType;
  if (source.kind === 'file' || !URL.canParse(source.url)) return null;
  const { hostname, pathname } = new URL(source.url);
  return VIDEO_HOSTS.has(hostname) ? 'video/*' : mediaTypeOfAddress(pathname);
}

/**
 * The source of media, from a URL.
 *
 * @param path of the URL in the request
 */
export function sourceOf(url: string, path: string): MediaSource {
  if (url.startsWith(FILE_SCHEME)) return { kind: 'file', id: url };
  const scheme = url.slice(0, 8).toLowerCase();
  if (scheme.startsWith('https://') || scheme.startsWith('http://')) return { kind: 'url', url };
  if (!scheme.startsWith('data:')) {
    throw invalid(
      path,
      `expected a URL of http:, https: or data:, or ms://…, received ${quoteValue(url)}`,
    );
  }
  // Without a regular expression, since the data may have many megabytes.
  const comma = url.indexOf(',');
  const head = comma === -1 ? '' : url.slice('data:'.length, comma);
  const mediaType = head.split(';', 1)[0]!.trim().toLowerCase();
  if (mediaType === '' || !/;\s*base64\s*$/i.test(head)) {
    throw invalid(
      path,
      `expected data:<media type>;base64,<data>, received ${quoteValue(url.slice(0, 60))}`,
    );
  }
  return { kind: 'data', mediaType, data: url.slice(comma + 1) };
}

/** A part with media, and what the client says of them. */
export function mediaPart(
  media: MediaPart['media'],
  path: string,
  source: MediaSource,
  { detail, filename }: { readonly detail?: unknown; readonly filename?: unknown } = {},
): MediaPart {
  const about = { detail: nonEmptyTextOf(detail), filename: nonEmptyTextOf(filename) };
  return { type: 'media', path, media, source, ...about };
}

export function dataUrl({
  mediaType,
  data,
}: Extract<MediaSource, { readonly kind: 'data' }>): string {
  return `data:${mediaType};base64,${data}`;
}
