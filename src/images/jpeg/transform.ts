import { BLOCK, type Component, type Frame } from './frame.ts';
import { impossible } from './segments.ts';

/** A change of orientation: mirrored left to right and top to bottom, then rows and columns exchanged. */
export type Transform = Readonly<Record<'flop' | 'flip' | 'transpose', boolean>>;

const change = (marks: string): Transform => ({
  flop: marks.includes('x'),
  flip: marks.includes('y'),
  transpose: marks.includes('t'),
});

/** The changes that display pictures of EXIF's orientations 1 to 8 upright. */
const ORIENTATIONS = ['', 'x', 'xy', 'y', 't', 'yt', 'xyt', 'xt'].map(change);

export function uprightTransform(orientation: number): Transform {
  return ORIENTATIONS[orientation - 1] ?? change('');
}

/** The rotation by a number of quarters clockwise. */
export const rotation = (quarters: number): Transform => change(['', 'yt', 'xy', 'xt'][quarters]!);

export function isIdentity({ flop, flip, transpose }: Transform): boolean {
  return !flop && !flip && !transpose;
}

/** One change after another. */
export function compose(one: Transform, next: Transform): Transform {
  const [flop, flip] = one.transpose ? [next.flip, next.flop] : [next.flop, next.flip];
  return {
    flop: one.flop !== flop,
    flip: one.flip !== flip,
    transpose: one.transpose !== next.transpose,
  };
}

/** Places in zigzag order, as row * 8 + column (T.81, figure A.6). */
const ZIGZAG = zigzag();

function zigzag(): Uint8Array {
  const places = Array.from({ length: BLOCK }, (_, place) => place);
  const key = (place: number) => {
    const [row, column] = [place >> 3, place & 7];
    return (row + column) * 8 + ((row + column) % 2 === 0 ? column : row);
  };
  return Uint8Array.from(places.sort((left, right) => key(left) - key(right)));
}

/** For each place in zigzag order, that of the exchanged row and column. */
const TRANSPOSED = ZIGZAG.map((place) => ZIGZAG.indexOf(((place & 7) << 3) | (place >> 3)));

/** Sizes of whole MCUs. */
export function mcuSize({ horizontal, vertical }: Pick<Frame, 'horizontal' | 'vertical'>) {
  return { width: horizontal * 8, height: vertical * 8 };
}

/**
 * Cuts off the partial MCUs at edges that a change would mirror to the left or the top.
 *
 * @throws Failure lossless_impossible where nothing would remain
 */
export function trimFrame(frame: Frame, { flop, flip }: Transform): Frame {
  const mcu = mcuSize(frame);
  const width = flop ? frame.width - (frame.width % mcu.width) : frame.width;
  const height = flip ? frame.height - (frame.height % mcu.height) : frame.height;
  if (width === 0 || height === 0)
    throw impossible(`${frame.width}x${frame.height} has no whole block`);
  const components = frame.components.map((component) => ({
    ...component,
    columns: Math.ceil(Math.ceil((width * component.horizontal) / frame.horizontal) / 8),
    rows: Math.ceil(Math.ceil((height * component.vertical) / frame.vertical) / 8),
  }));
  return { ...frame, width, height, components };
}

/**
 * Changes the orientation of a picture whose mirrored sides are whole MCUs. The coefficients of the given frame are
 * freed, since both would take 4 to 12 bytes for a pixel.
 */
export function transformFrame(frame: Frame, change: Transform): Frame {
  if (isIdentity(change)) return frame;
  const components = frame.components.map((component) => transformed(component, change));
  if (!change.transpose) return { ...frame, components };
  const { width, height, horizontal, vertical } = frame;
  const quantisation = new Map(
    Array.from(frame.quantisation, ([number, values]) => [
      number,
      values.map((_, place) => values[TRANSPOSED[place]!]!),
    ]),
  );
  const sides = { width: height, height: width, horizontal: vertical, vertical: horizontal };
  return { ...frame, ...sides, components, quantisation };
}

function transformed(component: Component, { flop, flip, transpose }: Transform): Component {
  const { columns, rows, stride, coefficients, horizontal, vertical } = component;
  const from = ZIGZAG.map((_, place) => (transpose ? TRANSPOSED[place]! : place));
  // Mirroring negates the cosines of odd frequency.
  const signs = Int8Array.from(from, (place) => {
    const [row, column] = [ZIGZAG[place]! >> 3, ZIGZAG[place]! & 7];
    return (flop && column % 2 === 1) !== (flip && row % 2 === 1) ? -1 : 1;
  });
  const result = new Int16Array(columns * rows * BLOCK);
  for (let y = 0; y < rows; y += 1) {
    for (let x = 0; x < columns; x += 1) {
      const source = ((flip ? rows - 1 - y : y) * stride + (flop ? columns - 1 - x : x)) * BLOCK;
      const target = (transpose ? x * rows + y : y * columns + x) * BLOCK;
      for (let place = 0; place < BLOCK; place += 1)
        result[target + place] = coefficients[source + from[place]!]! * signs[place]!;
    }
  }
  // A transfer frees the memory at once; the collector would do it after all components.
  structuredClone(null, { transfer: [coefficients.buffer] });
  if (!transpose) return { ...component, stride: columns, coefficients: result };
  const sides = { horizontal: vertical, vertical: horizontal, columns: rows, rows: columns };
  return { ...component, ...sides, stride: rows, coefficients: result };
}
