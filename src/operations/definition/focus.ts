import * as v from 'valibot';
import type { Facts, Size } from '../../images/decoding/header.ts';
import { type Region, regionsOfFile, regionsOfMetadata } from '../../images/focus/regions.ts';
import type { Sharp } from '../../images/input.ts';
import { optional } from '../../schema/fields.ts';
import type { Variable } from './operation.ts';
import { checkOneFrame, isStrategy } from './placement.ts';
import type { Source } from './step.ts';

/** Shares of width and height, or a word for what is found in the picture or beside it. */
const FOCUS =
  /^(?:(?:0(?:\.\d{1,6})?|1),(?:0(?:\.\d{1,6})?|1)|face|metadata|sidecar|attention|entropy)$/;

/** The option of steps that keep a part, and the property of inputs that it reads. */
export const focusOption = optional(
  v.pipe(v.string(), v.regex(FOCUS)),
  'part to keep in view, also by EXIF, XMP or a file',
  {
    expects: 'face, metadata, sidecar, attention, entropy, or shares of the sides such as 0.3,0.6',
  },
);

export function focusVariables({ focus }: { readonly focus?: string | undefined }): Variable[] {
  return focus === 'sidecar' ? ['sidecar'] : [];
}

/**
 * Plans a cut around a focus; undefined for those that sharp finds itself.
 *
 * @param whole size of the picture when it is cut, and of the part
 * @returns the place of the part, as far as the picture reaches
 * @throws Failure animation_unsupported for an animation whose frames would be cut at different places
 */
export function planFocus(focus: string | undefined, facts: Facts, whole: Size, part: Size) {
  if (focus === undefined || isStrategy(focus)) return undefined;
  if (!focus.includes(',')) checkOneFrame(facts, `focus ${focus}`);
  const share = { width: part.width / whole.width, height: part.height / whole.height };
  return async (frame: Sharp, source: Source) => {
    const regions = await find(focus, frame, facts, source);
    const { x, y } = regions.length > 0 ? centreOf(regions, share) : await attention(frame, facts);
    const offset = (at: number, all: number, length: number) =>
      Math.min(Math.max(Math.round(at * all - length / 2), 0), all - length);
    const left = offset(x, whole.width, part.width);
    return { left, top: offset(y, whole.height, part.height), ...part };
  };
}

/** The regions of the focus, the most important first; none with a warning that says so. */
async function find(focus: string, frame: Sharp, { moved }: Facts, source: Source) {
  const { input, header, warnings } = source;
  const [x, y] = focus.split(',').map(Number);
  if (y !== undefined) return [{ x: x!, y, width: 0, height: 0 }];
  let regions: readonly Region[] = [];
  if (focus === 'face') {
    // Loaded here: most jobs search no faces.
    const { findFaces } = await import('../../images/focus/faces.ts');
    regions = await findFaces(input, frame);
  } else if (!moved) {
    const { sidecar = '' } = input.variables;
    regions = focus === 'sidecar' ? regionsOfFile(sidecar, header) : regionsOfMetadata(header);
  }
  if (regions.length === 0) {
    const where = focus === 'face' || !moved ? '' : ', which earlier steps cut or turned';
    const message = `focus ${focus}: found nothing in this picture${where}; attention chose the part`;
    warnings.push({ code: 'focus_not_found', message });
  }
  return regions;
}

/** The middle of the box around regions, without the last ones if they would not be in view together. */
function centreOf(regions: readonly Region[], share: Size): Pick<Region, 'x' | 'y'> {
  const left = Math.min(...regions.map(({ x, width }) => x - width / 2));
  const right = Math.max(...regions.map(({ x, width }) => x + width / 2));
  const top = Math.min(...regions.map(({ y, height }) => y - height / 2));
  const bottom = Math.max(...regions.map(({ y, height }) => y + height / 2));
  const fits = right - left <= share.width && bottom - top <= share.height;
  if (regions.length > 1 && !fits) return centreOf(regions.slice(0, -1), share);
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

/** Sides of the copy in which attention is measured. It is cut, because libvips measures nothing else. */
const SMALL = 240;

async function attention(frame: Sharp, { width, height }: Facts): Promise<Pick<Region, 'x' | 'y'>> {
  const size = { width: SMALL, height: width > height ? SMALL : SMALL / 2 };
  const scale = Math.max(size.width / width, size.height / height);
  const small = frame.clone().resize({ ...size, fit: 'cover', position: 'attention' });
  const { info } = await small.raw().toBuffer({ resolveWithObject: true });
  const { attentionX = (width * scale) / 2, attentionY = (height * scale) / 2 } = info;
  return { x: attentionX / (width * scale), y: attentionY / (height * scale) };
}
