import { extname } from 'node:path';
import { FORMATS, formatOfExtension, OUTPUT_FORMATS } from '../../images/formats.ts';
import { sniff } from '../../images/sniff.ts';
import { MEDIA_EXTENSIONS } from './result-names.ts';

/** Endings by what servers call video and audio. */
const ENDINGS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/wav': 'wav',
  'audio/wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/ogg': 'ogg',
  'audio/opus': 'opus',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/pcm': 'pcm',
  'audio/l16': 'pcm',
};

/** What a result is. */
export interface ResultKind {
  /** The ending that fits it, without a dot. */
  readonly extension: string;
  readonly isImage: boolean;
}

/**
 * Tells what came: an image by its content, anything else by its address and by what its server calls
 * it.
 *
 * @param address empty where there is none
 */
export function kindOf(bytes: Uint8Array, address: string, mediaType: string): ResultKind {
  const sniffed = sniff(bytes);
  if (sniffed && 'format' in sniffed) {
    const format = OUTPUT_FORMATS.find((one) => one === sniffed.format);
    return { extension: format ? FORMATS[format].extensions[0] : sniffed.format, isImage: true };
  }
  const path = URL.canParse(address, 'http://localhost')
    ? new URL(address, 'http://localhost').pathname
    : '';
  const ending = extname(path).slice(1).toLowerCase();
  const known = MEDIA_EXTENSIONS.includes(ending) || formatOfExtension(ending) !== null;
  return { extension: known ? ending : (ENDINGS[mediaType] ?? 'bin'), isImage: false };
}
