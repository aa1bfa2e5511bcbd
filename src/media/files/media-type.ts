import { FORMATS, OUTPUT_FORMATS } from '../../images/formats.ts';
import { sniff } from '../../images/sniff.ts';

/** What a file is by its content. */
export interface MediaType {
  readonly kind: 'image' | 'video' | 'audio';
  readonly mediaType: string;
  /** Without a dot. */
  readonly extension: string;
}

/** Bytes from a file's start that tell what it is. */
export const HEAD = 512;

const VIDEO = {
  mp4: { kind: 'video', mediaType: 'video/mp4', extension: 'mp4' },
  webm: { kind: 'video', mediaType: 'video/webm', extension: 'webm' },
  quicktime: { kind: 'video', mediaType: 'video/quicktime', extension: 'mov' },
} as const satisfies Readonly<Record<string, MediaType>>;

const AUDIO = {
  mp3: { kind: 'audio', mediaType: 'audio/mpeg', extension: 'mp3' },
  wav: { kind: 'audio', mediaType: 'audio/wav', extension: 'wav' },
  ogg: { kind: 'audio', mediaType: 'audio/ogg', extension: 'ogg' },
  opus: { kind: 'audio', mediaType: 'audio/ogg', extension: 'opus' },
  flac: { kind: 'audio', mediaType: 'audio/flac', extension: 'flac' },
  aac: { kind: 'audio', mediaType: 'audio/aac', extension: 'aac' },
  m4a: { kind: 'audio', mediaType: 'audio/mp4', extension: 'm4a' },
} as const satisfies Readonly<Record<string, MediaType>>;

/** Brands of ISO base media files (ISO/IEC 14496-12) that hold films. */
const FILMS = /^(isom|iso[2-9a-c]|mp4[12]|avc1|av01|hvc1|hev1|M4V|dash|MSNV|mmp4|3g[gpr2]|f4v|cmf)/;

/**
 * Tells what a file is by its first bytes, never by its name or by what a server says of it; null
 * where it is no image, film or sound that is taken.
 */
export function sniffMedia(bytes: Uint8Array): MediaType | null {
  const found = sniff(bytes);
  const format = OUTPUT_FORMATS.find(
    (known) => found && 'format' in found && known === found.format,
  );
  if (format !== undefined) {
    const { mediaType, extensions } = FORMATS[format];
    return { kind: 'image', mediaType, extension: extensions[0] };
  }
  return found === null ? sniffFilm(headOf(bytes)) : null;
}

function sniffFilm(head: string): MediaType | null {
  if (head.startsWith('ftyp', 4)) {
    const brand = head.slice(8, 12);
    if (brand === 'qt  ') return VIDEO.quicktime;
    if (/^M4[AB] /.test(brand)) return AUDIO.m4a;
    return FILMS.test(brand) ? VIDEO.mp4 : null;
  }
  // QuickTime before it had brands.
  if (/^(moov|mdat|wide)$/.test(head.slice(4, 8)) && head.startsWith('\0')) return VIDEO.quicktime;
  // EBML, of which the type of document stands near the start (RFC 8794, 11.2.4).
  if (head.startsWith('\x1a\x45\xdf\xa3')) {
    return head.slice(0, 64).includes('\x42\x82\x84webm') ? VIDEO.webm : null;
  }
  if (head.startsWith('RIFF') && head.startsWith('WAVE', 8)) return AUDIO.wav;
  if (head.startsWith('fLaC')) return AUDIO.flac;
  if (head.startsWith('OggS')) return head.includes('OpusHead') ? AUDIO.opus : AUDIO.ogg;
  if (head.startsWith('ID3')) return AUDIO.mp3;
  return sniffFrames(head);
}

/** Sound without a container: frames that begin with ones. */
function sniffFrames(head: string): MediaType | null {
  const [first = 0, second = 0, third = 0] = Buffer.from(head.slice(0, 3), 'latin1');
  if (first !== 0xff) return null;
  // ADTS (ISO/IEC 13818-7, 6.2): twelve ones and a layer of 0.
  if ((second & 0xf6) === 0xf0) return AUDIO.aac;
  // MPEG audio, layer III (ISO/IEC 11172-3, 2.4.2.3), without reserved versions, bit and sample rates.
  const layer = (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return layer && (third & 0xf0) !== 0xf0 && (third & 0x0c) !== 0x0c ? AUDIO.mp3 : null;
}

/** In a word or two what bytes are that are not what was expected: for messages. */
export function describeBytes(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'empty';
  const media = sniffMedia(bytes);
  if (media !== null) return media.mediaType;
  const found = sniff(bytes);
  if (found !== null) return 'format' in found ? found.format.toUpperCase() : found.unsupported;
  const head = headOf(bytes);
  if (/^(\xef\xbb\xbf)?\s*<(!doctype\s+html|html|head|body)\b/i.test(head)) return 'HTML';
  if (/^(\xef\xbb\xbf)?\s*[[{]/.test(head) && isText(bytes)) return 'JSON';
  return isText(bytes) ? 'text' : 'of an unknown kind';
}

/** Whether bytes are words rather than samples. */
export function isText(bytes: Uint8Array): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what tells samples from words.
  if (bytes.length === 0 || /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(headOf(bytes))) return false;
  try {
    // As a stream, since the head may end within a character.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, HEAD), { stream: true });
    return true;
  } catch {
    return false;
  }
}

function headOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, Math.min(byteLength, HEAD)).toString('latin1');
}
