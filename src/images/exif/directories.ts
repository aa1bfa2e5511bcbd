import { DIRECTORY_TAGS } from './tags.ts';
import { type Field, TiffBlock } from './tiff-block.ts';

export type Fields = ReadonlyMap<number, Field>;

/** The directories of an Exif block that describe its picture; a missing one is empty. */
export interface Directories {
  /** IFD0. */
  readonly image: Fields;
  readonly photo: Fields;
  readonly gps: Fields;
  readonly interop: Fields;
}

/** Prefix of the TIFF header in JPEG and HEIF. */
const PREFIX = [0x45, 0x78, 0x69, 0x66, 0, 0];

/** Opens an Exif block with or without its `Exif` prefix; null if the bytes are none. */
export function openExif(bytes: Uint8Array): TiffBlock | null {
  const prefixed = PREFIX.every((byte, index) => bytes[index] === byte);
  return TiffBlock.open(prefixed ? bytes.subarray(PREFIX.length) : bytes);
}

/** Reads the directories; null if the block has no first one. */
export function readDirectories(block: TiffBlock): Directories | null {
  const image = block.directory(block.start);
  if (image === null) return null;
  const photo = directoryAt(block, image, DIRECTORY_TAGS.photo);
  const gps = directoryAt(block, image, DIRECTORY_TAGS.gps);
  return { image, photo, gps, interop: directoryAt(block, photo, DIRECTORY_TAGS.interop) };
}

function directoryAt(block: TiffBlock, from: Fields, tag: number): Fields {
  const field = from.get(tag);
  if (field?.count !== 1 || !['long', 'ifd'].includes(field.type.name)) return new Map();
  const offset = block.numbers(field)?.[0] ?? 0;
  return block.directory(offset) ?? new Map();
}
