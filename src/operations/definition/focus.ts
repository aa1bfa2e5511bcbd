import * as v from 'valibot';
import type { Facts, Size } from '../../images/decoding/header.ts';
import { type Region, regionsOfFile, regionsOfMetadata } from '../../images/focus/regions.ts';
import type { Sharp } from '../../images/input.ts';
import { field } from '../../schema/fields.ts';
import type { Variable } from './operation.ts';
import { checkOneFrame } from './placement.ts';
import type { Source } from './step.ts';

const SUBJECTS = ['face', 'attention', 'entropy', 'metadata', 'sidecar'] as const;

/** Shares of width and height, such as `0.3,0.6`. */
const POINT = /^(0(?:\.\d{1,6})?|1(?:\.0{1,6})?),(0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/;

export const focusField = v.optional(
  field(
    v.pipe(
      v.string(),
      v.check((text) => SUBJECTS.some((subject) => subject === text) || POINT.test(text)),
    ),
    'part to keep in view: faces, the subject by EXIF or XMP, by a file beside the picture, or a point',
    { expects: `${SUBJECTS.join(', ')}, or shares of width and height such as 0.3,0.6` },
  ),
);

/** The option as its users give it. */
interface Focused {
  readonly focus?: string | undefined;
}

/** The file beside the picture is a property of the input. */
export function focusVariables({ focus }: Focused): readonly Variable[] {
  return focus === 'sidecar' ? ['sidecar'] : [];
}

/** Faces are searched in a small copy, which is decoded for it. */
export const FOCUS_MICROSECONDS = 0.03;

/** Refuses an animation whose frames would be cut at different places. @throws Failure animation_unsupported */
export function checkFocus(facts: Facts, focus: string): void {
  if (!POINT.test(focus)) checkOneFrame(facts, `focus ${focus}`);
}

/** The offset at which a part of a picture shows the focus, as far as the picture reaches. */
export async function offsetOfFocus(
  {
    frame,
    facts,
    source,
  }: { readonly frame: Sharp; readonly facts: Facts; readonly source: Source },
  focus: string,
  whole: Size,
  part: Size,
): Promise<{ left: number; top: number }> {
  const regions = await find(focus, frame, facts, source);
  const share = { width: part.width / whole.width, height: part.height / whole.height };
  const { x, y } = regions.length > 0 ? centreOf(regions, share) : await attention(frame, facts);
  const offset = (at: number, all: number, length: number) =>
    Math.min(Math.max(Math.round(at * all - length / 2), 0), all - length);
  return {
    left: offset(x, whole.width, part.width),
    top: offset(y, whole.height, part.height),
  };
}

/** The regions of the focus, the most important first; none with a warning that says so. */
async function find(
  focus: string,
  frame: Sharp,
  { moved }: Facts,
  { input, header, warnings }: Source,
): Promise<readonly Region[]> {
  const [x, y] = focus.split(',').map(Number);
  if (y !== undefined) return [{ x: x!, y, width: 0, height: 0 }];
  const fallback = (reason: string): readonly [] => {
    warnings.push({ code: 'focus_not_found', message: `${reason}: attention chose the part` });
    return [];
  };
  if (focus === 'face') {
    // Loaded here: most jobs search no faces.
    const { findFaces } = await import('../../images/focus/faces.ts');
    const faces = await findFaces(frame);
    return faces.length > 0 ? faces : fallback('no face was found');
  }
  if (moved)
    return fallback(`focus ${focus} is no place in a picture that steps have cut or turned`);
  const isFile = focus === 'sidecar';
  const { sidecar } = input.variables;
  const found = isFile ? regionsOfFile(sidecar ?? '', header) : regionsOfMetadata(header);
  if (found.length > 0) return found;
  if (!isFile) return fallback('EXIF and XMP name no subject');
  return fallback(
    sidecar ? 'the file beside the picture names no place' : 'no file is beside the picture',
  );
}

/** The middle of the box around regions, without the last ones if they would not be in view together. */
function centreOf(regions: readonly Region[], share: Size): Pick<Region, 'x' | 'y'> {
  const around = (from: number, to: number) => (from + to) / 2;
  for (let count = regions.length; ; count -= 1) {
    const shown = regions.slice(0, count);
    const left = Math.min(...shown.map(({ x, width }) => x - width / 2));
    const right = Math.max(...shown.map(({ x, width }) => x + width / 2));
    const top = Math.min(...shown.map(({ y, height }) => y - height / 2));
    const bottom = Math.max(...shown.map(({ y, height }) => y + height / 2));
    if (count === 1 || (right - left <= share.width && bottom - top <= share.height)) {
      return { x: around(left, right), y: around(top, bottom) };
    }
  }
}

/** Sides of the copy in which attention is measured. It is cut, because libvips measures nothing else. */
const SMALL = 240;

async function attention(frame: Sharp, { width, height }: Facts): Promise<Pick<Region, 'x' | 'y'>> {
  const size = { width: SMALL, height: width > height ? SMALL : SMALL / 2 };
  const scale = Math.max(size.width / width, size.height / height);
  const resize = { ...size, fit: 'cover', position: 'attention' } as const;
  const { info } = await frame.clone().resize(resize).raw().toBuffer({ resolveWithObject: true });
  const { attentionX: x, attentionY: y } = info;
  if (x === undefined || y === undefined) return { x: 0.5, y: 0.5 };
  return { x: x / (width * scale), y: y / (height * scale) };
}
