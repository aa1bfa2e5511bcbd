import { extname } from 'node:path';
import { sniffMedia } from '../../media/files/media-type.ts';
import { RESULT_EXTENSIONS } from './result-names.ts';

/** What a result is. */
export interface ResultKind {
  /** The ending that fits it, without a dot. */
  readonly extension: string;
  readonly isImage: boolean;
}

/**
 * Tells what came by its content, and where that does not tell, as with bare samples of sound, by the
 * ending of its address.
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
