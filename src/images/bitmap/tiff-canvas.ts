/** A TIFF file without compression, whose pixels are to be filled in. */
export interface TiffCanvas {
  readonly file: Uint8Array;
  /** Interleaved samples of eight bits, row by row from the top. */
  readonly pixels: Uint8Array;
}

export interface TiffCanvasOptions {
  readonly width: number;
  readonly height: number;
  /** Grey, or red, green and blue, or these with an opacity that is not multiplied in. */
  readonly channels: 1 | 3 | 4;
  /** 0 where it is not known. */
  readonly pixelsPerMetre: number;
  /** An ICC profile. */
  readonly profile: Uint8Array | null;
}

/** Bytes of a strip, which the decoder reads at once (TIFF 6.0, section 3, recommends 8 KB for slow disks). */
const STRIP_BYTES = 64 * 1024;

const SHORT = 3;
const LONG = 4;
const RATIONAL = 5;
const UNDEFINED = 7;
const ENTRY_BYTES = 12;
const HEADER_BYTES = 8;

/** Makes a TIFF file (TIFF 6.0): libvips then reads pixels that Oriel decodes like those of any other image. */
export function tiffCanvas({
  width,
  height,
  channels,
  pixelsPerMetre,
  profile,
}: TiffCanvasOptions): TiffCanvas {
  const stride = width * channels;
  const rowsPerStrip = Math.max(1, Math.floor(STRIP_BYTES / stride));
  const strips = Math.ceil(height / rowsPerStrip);
  const long = (value: number) => ({ type: LONG, values: [value] });
  const short = (...values: number[]) => ({ type: SHORT, values });
  const counts = Array.from(
    { length: strips },
    (_, strip) => Math.min(rowsPerStrip, height - strip * rowsPerStrip) * stride,
  );
  const density = { type: RATIONAL, values: [pixelsPerMetre, 100] };
  const tags = new Map<number, { readonly type: number; readonly values: ArrayLike<number> }>([
    [256, long(width)],
    [257, long(height)],
    [258, short(...Array.from({ length: channels }, () => 8))],
    [259, short(1)],
    [262, short(channels === 1 ? 1 : 2)],
    [273, { type: LONG, values: counts.map((_, strip) => strip * rowsPerStrip * stride) }],
    [277, short(channels)],
    [278, long(rowsPerStrip)],
    [279, { type: LONG, values: counts }],
    ...(pixelsPerMetre > 0
      ? ([
          [282, density],
          [283, density],
          [296, short(3)],
        ] as const)
      : []),
    ...(channels === 4 ? ([[338, short(2)]] as const) : []),
    ...(profile ? ([[34675, { type: UNDEFINED, values: profile }]] as const) : []),
  ]);
  const valueBytes = ({ type, values }: { type: number; values: ArrayLike<number> }) =>
    values.length * (type === SHORT ? 2 : type === UNDEFINED ? 1 : 4);
  const outside = [...tags.values()].map(valueBytes).filter((bytes) => bytes > 4);
  const directory = HEADER_BYTES + 2 + tags.size * ENTRY_BYTES + 4;
  const start = outside.reduce((sum, bytes) => sum + bytes + (bytes % 2), directory);
  const file = new Uint8Array(start + stride * height);
  const view = new DataView(file.buffer);
  file.set([0x49, 0x49, 42, 0, HEADER_BYTES]);
  view.setUint16(HEADER_BYTES, tags.size, true);
  let next = directory;
  for (const [index, [tag, { type, values }]] of [...tags].entries()) {
    const at = HEADER_BYTES + 2 + index * ENTRY_BYTES;
    view.setUint16(at, tag, true);
    view.setUint16(at + 2, type, true);
    view.setUint32(at + 4, type === RATIONAL ? 1 : values.length, true);
    const bytes = valueBytes({ type, values });
    const to = bytes > 4 ? next : at + 8;
    if (bytes > 4) {
      view.setUint32(at + 8, next, true);
      next += bytes + (bytes % 2);
    }
    if (type === UNDEFINED) file.set(values as Uint8Array, to);
    for (let place = 0; type !== UNDEFINED && place < values.length; place += 1) {
      const value = values[place]! + (tag === 273 ? start : 0);
      if (type === SHORT) view.setUint16(to + place * 2, value, true);
      else view.setUint32(to + place * 4, value, true);
    }
  }
  return { file, pixels: file.subarray(start) };
}
