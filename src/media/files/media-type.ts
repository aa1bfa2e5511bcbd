import { valueOr } from '../../flow.ts';
import { sniff } from '../../images/decoding/sniff.ts';
import { FORMATS, OUTPUT_FORMATS } from '../../images/formats.ts';

/** Media type of a file by its content. */
export interface MediaType {
  readonly kind: 'image' | 'video' | 'audio';
  readonly mediaType: string;
  /** File extension without a dot. */
  readonly extension: string;
}

/** Bytes at a file's start that are enough to detect its type. */
export const HEAD_BYTES = 512;

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

/** Brands of ISO base media files (ISO/IEC 14496-12) that contain video. */
const VIDEO_BRANDS =
  /^(isom|iso[2-9a-c]|mp4[12]|avc1|av01|hvc1|hev1|M4V|dash|MSNV|mmp4|3g[gpr2]|f4v|cmf)/;

/**
 * Detects a file's type by its first bytes, never by its name or a Content-Type header; null where it
 * is no supported image, video or audio.
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
  return found === null ? sniffContainer(headOf(bytes)) : null;
}

function sniffContainer(head: string): MediaType | null {
  if (head.startsWith('ftyp', 4)) {
    const brand = head.slice(8, 12);
    if (brand === 'qt  ') return VIDEO.quicktime;
    if (/^M4[AB] /.test(brand)) return AUDIO.m4a;
    return VIDEO_BRANDS.test(brand) ? VIDEO.mp4 : null;
  }
  // QuickTime files without a brand.
  if (/^(moov|mdat|wide)$/.test(head.slice(4, 8)) && head.startsWith('\0')) return VIDEO.quicktime;
  // EBML: the document type is near the start (RFC 8794, 11.2.4).
  if (head.startsWith('\x1a\x45\xdf\xa3')) {
    return head.slice(0, 64).includes('\x42\x82\x84webm') ? VIDEO.webm : null;
  }
  if (head.startsWith('RIFF') && head.startsWith('WAVE', 8)) return AUDIO.wav;
  if (head.startsWith('fLaC')) return AUDIO.flac;
  if (head.startsWith('OggS')) return head.includes('OpusHead') ? AUDIO.opus : AUDIO.ogg;
  if (head.startsWith('ID3')) return AUDIO.mp3;
  return sniffFrames(head);
}

/** Audio without a container: frames that begin with set bits. */
function sniffFrames(head: string): MediaType | null {
  const [first = 0, second = 0, third = 0] = Buffer.from(head.slice(0, 3), 'latin1');
  if (first !== 0xff) return null;
  // ADTS (ISO/IEC 13818-7, 6.2): twelve set bits and layer 0.
  if ((second & 0xf6) === 0xf0) return AUDIO.aac;
  // MPEG audio, layer III (ISO/IEC 11172-3, 2.4.2.3), without reserved versions, bit and sample rates.
  const layer = (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return layer && (third & 0xf0) !== 0xf0 && (third & 0x0c) !== 0x0c ? AUDIO.mp3 : null;
}

/** Describes unexpected bytes in a word or two, for messages. */
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

/** Whether bytes are text rather than samples. */
export function isText(bytes: Uint8Array): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: samples contain them, text does not.
  if (bytes.length === 0 || /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(headOf(bytes))) return false;
  const head = bytes.subarray(0, HEAD_BYTES);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // `stream`, since the head may end within a character.
  return valueOr(() => decoder.decode(head, { stream: true }), null) !== null;
}

function headOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, Math.min(byteLength, HEAD_BYTES)).toString('latin1');
}
