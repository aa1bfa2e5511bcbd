import { damaged, impossible, MARKER, type Segment } from './segments.ts';

/** Coefficients of a block. */
export const BLOCK = 64;

/** Bits of the largest numbers of pictures of 8 bits (F.1.2). */
export const MAX_DC_BITS = 11;
export const MAX_AC_BITS = 10;

/** A picture as quantised coefficients. */
export type Frame = Readonly<ReturnType<typeof openFrame>>;

/** One component with its quantised coefficients. */
export type Component = Readonly<Frame['components'][number]>;

export type Shape = ReturnType<typeof readShape>;

/** The part of the coefficients of a scan (T.81, B.2.3). */
export interface Band {
  readonly first: number;
  readonly last: number;
  /** Bit position of the scan before, 0 for the first; and of this one. */
  readonly high: number;
  readonly low: number;
}

/** Names of the processes that are not transcoded, by marker. */
const PROCESSES: ReadonlyMap<number, string> = new Map([
  [0xc3, 'lossless'],
  ...[0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf].map((marker) => [marker, 'hierarchical'] as const),
  ...[0xc9, 0xca, 0xcb].map((marker) => [marker, 'arithmetic-coded'] as const),
]);

/** Whether a segment is the header of a frame of any process. */
export function isFrameHeader(marker: number): boolean {
  return PROCESSES.has(marker) || (marker >= MARKER.SOF0 && marker <= MARKER.SOF2);
}

/** Reads SOF0, SOF1 or SOF2 (B.2.2). @throws Failure corrupt_image or lossless_impossible */
export function readShape({ marker, data }: Segment) {
  const process = PROCESSES.get(marker);
  if (process) throw impossible(`${process} JPEG cannot be changed without loss`);
  if (data.length < 6) throw damaged('its frame header breaks off');
  const [precision, count] = [data[0]!, data[5]!];
  const height = data.readUInt16BE(1);
  const width = data.readUInt16BE(3);
  if (precision !== 8) throw impossible(`JPEG of ${precision} bits cannot be changed without loss`);
  if (height === 0) throw impossible('JPEG without a height cannot be changed without loss');
  if (width === 0) throw damaged('its width is 0');
  if (count < 1 || count > 4 || data.length !== 6 + count * 3)
    throw damaged(`it has ${count} components`);
  const components = Array.from({ length: count }, (_, index) => {
    const [id, sampling, table] = data.subarray(6 + index * 3) as unknown as number[];
    return {
      id: id!,
      /** Sampling factors (T.81, A.1.1). */
      ...{ horizontal: sampling! >> 4, vertical: sampling! & 15 },
      /** Number of its quantisation table. */
      table: table!,
    };
  });
  if (new Set(components.map(({ id }) => id)).size < count)
    throw damaged('two components have one number');
  for (const { horizontal, vertical, table } of components) {
    const bad = [horizontal, vertical].some((factor) => factor < 1 || factor > 4);
    if (bad || table > 3) throw damaged('its frame header is invalid');
  }
  const blocks = components.reduce((sum, one) => sum + one.horizontal * one.vertical, 0);
  if (count > 1 && blocks > 10) throw impossible(`JPEG of ${blocks} blocks an MCU`);
  return {
    width,
    height,
    /** Whether it is not of the baseline process, for its tables of 16 bits. */
    extended: marker === MARKER.SOF1,
    progressive: marker === MARKER.SOF2,
    // The one component of a picture is not interleaved, whatever its factors (A.2.2).
    components: count === 1 ? [{ ...components[0]!, horizontal: 1, vertical: 1 }] : components,
  };
}

/** A frame with room for its coefficients. */
export function openFrame(shape: Shape, quantisation: ReadonlyMap<number, Uint16Array>) {
  const horizontal = Math.max(...shape.components.map((component) => component.horizontal));
  const vertical = Math.max(...shape.components.map((component) => component.vertical));
  const mcusAcross = Math.ceil(shape.width / (8 * horizontal));
  const mcusDown = Math.ceil(shape.height / (8 * vertical));
  const components = shape.components.map((component) => {
    const stride = mcusAcross * component.horizontal;
    return {
      ...component,
      /** Blocks that have samples of the picture. */
      columns: Math.ceil(Math.ceil((shape.width * component.horizontal) / horizontal) / 8),
      rows: Math.ceil(Math.ceil((shape.height * component.vertical) / vertical) / 8),
      /** Blocks of a row in memory: whole MCUs. */
      stride,
      /** Blocks by row, each in zigzag order. */
      coefficients: new Int16Array(stride * mcusDown * component.vertical * BLOCK),
    };
  });
  return {
    ...shape,
    components,
    /** Largest sampling factors. */
    ...{ horizontal, vertical },
    /** Contents of DQT by number, each in zigzag order. */
    quantisation,
  };
}

/** Bytes of all coefficients, at most. */
export function coefficientBytes({ width, height, components }: Shape): number {
  return (width + 31) * (height + 31) * components.length * 2;
}

/** The segment DQT of tables (B.2.4.1), 16 bits wide where 8 are too few. */
export function quantisationSegment(tables: Frame['quantisation']): Segment {
  const parts = [...tables].map(([number, values]) => {
    const wide = values.some((value) => value > 255);
    const part = Buffer.alloc(1 + BLOCK * (wide ? 2 : 1));
    part[0] = (wide ? 0x10 : 0) | number;
    for (const [index, value] of values.entries()) {
      if (wide) part.writeUInt16BE(value, 1 + index * 2);
      else part[1 + index] = value;
    }
    return part;
  });
  return { marker: MARKER.DQT, data: Buffer.concat(parts) };
}

/** Reads DQT into tables. @throws Failure corrupt_image or lossless_impossible */
export function readQuantisation(data: Buffer, tables: Map<number, Uint16Array>, fixed: boolean) {
  for (let at = 0; at < data.length; ) {
    const wide = data[at]! >> 4 === 1;
    const number = data[at]! & 15;
    const end = at + 1 + BLOCK * (wide ? 2 : 1);
    if (data[at]! >> 4 > 1 || number > 3 || end > data.length)
      throw damaged('a quantisation table is invalid');
    const values = Uint16Array.from({ length: BLOCK }, (_, index) =>
      wide ? data.readUInt16BE(at + 1 + index * 2) : data[at + 1 + index]!,
    );
    const former = tables.get(number);
    if (fixed && former?.some((value, index) => value !== values[index]))
      throw impossible('JPEG whose scans change tables cannot be changed without loss');
    tables.set(number, values);
    at = end;
  }
}

/** The frame header of a picture. */
export function frameSegment({ width, height, extended, components }: Frame, progressive: boolean) {
  const data = Buffer.alloc(6 + components.length * 3);
  data[0] = 8;
  data.writeUInt16BE(height, 1);
  data.writeUInt16BE(width, 3);
  data[5] = components.length;
  for (const [index, { id, horizontal, vertical, table }] of components.entries()) {
    data.set([id, (horizontal << 4) | vertical, table], 6 + index * 3);
  }
  const sequential = extended ? MARKER.SOF1 : MARKER.SOF0;
  return { marker: progressive ? MARKER.SOF2 : sequential, data };
}
