import { invalid } from '../../../schema/invalid.ts';
import {
  type DialectName,
  FILE_SCHEME,
  type Json,
  type MediaPart,
} from '../../canonical/canonical.ts';
import { dataUrl, mediaPart, sourceOf } from '../media-source.ts';
import { dialectNamed } from '../registry.ts';
import { lacks, untranslatable } from '../request-errors.ts';

/** Formats of audio whose media type has another name. */
const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' };

/** The media of a message part; null if it has none. @param part valid by its schema */
export function decodeMedia(part: Json, path: string): MediaPart | null {
  const own = part[part['type'] as string] as Readonly<Record<string, string | undefined>>;
  switch (part['type']) {
    case 'image_url':
      return mediaPart('image', path, sourceOf(own['url']!, `${path}.image_url.url`), own);
    case 'video_url':
      return mediaPart('video', path, sourceOf(own['url']!, `${path}.video_url.url`));
    case 'input_audio': {
      const { data = '', format = '' } = own;
      const mediaType = Object.hasOwn(AUDIO_TYPES, format)
        ? AUDIO_TYPES[format]!
        : `audio/${format}`;
      return mediaPart('audio', path, { kind: 'data', mediaType, data });
    }
    case 'file': {
      const { file_data: data, file_id: id } = own;
      if (data) return mediaPart('document', path, sourceOf(data, `${path}.file.file_data`), own);
      if (id) return mediaPart('document', path, { kind: 'file', id }, own);
      throw invalid(`${path}.file`, 'expected file_data or file_id, received neither');
    }
    default:
      return null;
  }
}

/** A content part with media. @param from the client's dialect */
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
      if (source.kind !== 'data')
        throw untranslatable(path, 'chat', lacks('chat', 'audio by address'));
      const known = Object.keys(AUDIO_TYPES).find((name) => AUDIO_TYPES[name] === source.mediaType);
      const format = known ?? source.mediaType.replace(/^audio\//, '');
      return { type: 'input_audio', input_audio: { data: source.data, format } };
    }
    case 'document': {
      const name = { ...(filename !== null && { filename }) };
      if (source.kind === 'data') {
        // OpenAI requires a file name.
        return {
          type: 'file',
          file: { filename: 'document', ...name, file_data: dataUrl(source) },
        };
      }
      if (source.kind === 'file' && dialectNamed(from).usesOpenaiFields) {
        return { type: 'file', file: { file_id: source.id, ...name } };
      }
      throw untranslatable(path, 'chat', lacks('chat', 'documents by address'));
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
      if (source.id.startsWith(FILE_SCHEME)) return source.id;
      throw untranslatable(path, 'chat');
  }
}
