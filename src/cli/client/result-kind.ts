import { extname } from 'node:path';
import { sniffMedia } from '../../media/files/media-type.ts';
import { RESULT_EXTENSIONS } from './result-names.ts';

/** The kind of a result. */
export interface ResultKind {
  /** File extension, without a dot. */
  readonly extension: string;
  readonly isImage: boolean;
}

/**
 * Detects the kind of a result by its content, or by the extension of its address where the content
 * has no signature, as with raw audio samples.
 *
 * @param address empty where there is none
 */
export function kindOf(bytes: Uint8Array, address: string): ResultKind {
  const media = sniffMedia(bytes);
  if (media !== null) return { extension: media.extension, isImage: media.kind === 'image' };
  const path = address.replace(/[?#].*$/s, '');
  const ending = extname(path).slice(1).toLowerCase();
  return { extension: RESULT_EXTENSIONS.includes(ending) ? ending : 'bin', isImage: false };
}
