import type { Json, MediaPart } from '../../canonical.ts';
import { untranslatable } from '../request-errors.ts';

/** Media types by the extension of a URL's path: Gemini requires the type, and an address does not say it. */
const TYPES: Readonly<Record<string, string>> = {
  aac: 'audio/aac',
  aiff: 'audio/aiff',
  avi: 'video/avi',
  csv: 'text/csv',
  flac: 'audio/flac',
  gif: 'image/gif',
  heic: 'image/heic',
  heif: 'image/heif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  mov: 'video/mov',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  mpeg: 'video/mpeg',
  mpg: 'video/mpg',
  ogg: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
  wmv: 'video/wmv',
  xml: 'text/xml',
};

/** Hosts whose videos Gemini reads by address, whatever their type. */
const VIDEO_HOSTS = new Set(['www.youtube.com', 'youtube.com', 'm.youtube.com', 'youtu.be']);

/** The host of files in the provider's own account. */
const FILE_HOST = 'generativelanguage.googleapis.com';

/** A part with media, of a message or of a function response. */
export function encodeMedia({ source, media, path }: MediaPart): Json {
  switch (source.kind) {
    case 'data':
      return { inlineData: { mimeType: source.mediaType, data: source.data } };
    case 'file':
      throw untranslatable(path, 'gemini', 'this provider does not have files of other providers');
    case 'url': {
      const { hostname, pathname } = locationOf(source.url, path);
      if (hostname === FILE_HOST) {
        throw untranslatable(path, 'gemini', "files in the provider's account cannot be named");
      }
      if (media === 'video' && VIDEO_HOSTS.has(hostname)) {
        return { fileData: { fileUri: source.url } };
      }
      const extension = /\.([a-z0-9]+)$/i.exec(pathname)?.[1]?.toLowerCase() ?? '';
      if (!Object.hasOwn(TYPES, extension)) {
        throw untranslatable(
          path,
          'gemini',
          'this upstream reads an address only with its media type: use one that ends with an extension ' +
            'such as .jpg, or send a data: URL',
        );
      }
      return { fileData: { mimeType: TYPES[extension], fileUri: source.url } };
    }
  }
}

function locationOf(url: string, path: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw untranslatable(path, 'gemini', 'expected a valid URL');
}
