import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTemporaryFolder } from '../../temporary.ts';
import type { Header } from '../decoding/header.ts';
import { readRaw, readSamples } from '../decoding/pixels.ts';
import { fileFailure } from '../file-error.ts';
import type { OutputFormat } from '../formats.ts';
import { iccProfile, NAMED_SPACES } from '../icc.ts';
import type { ImageInput, Sharp } from '../input.ts';
import { metadataPng } from '../metadata/policy.ts';
import type { Warning } from '../output.ts';
import { pngWithProfile } from '../png/png.ts';
import type { EncodingOptions } from './options.ts';

/** Names of profiles that need no file. */
const PROFILE_NAMES: readonly string[] = [...Object.keys(NAMED_SPACES), 'cmyk'];

/** Most bytes of a profile: those of presses have up to 3 MB, and JPEG holds 16. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Offset of the table of tags (ICC.1:2022, 7.3). */
const TAGS = 128;
const MAX_TAGS = 100;

/** The table to device colours that each intent uses (ICC.1:2022, 9.2). */
const TABLES = { perceptual: 'B2A0', relative: 'B2A1', saturation: 'B2A2' } as const;

/** The files that options refer to as profiles. */
export function profileFiles({ profile }: { readonly profile?: string | undefined }): string[] {
  return profile === undefined || PROFILE_NAMES.includes(profile) ? [] : [profile];
}

function invalid(reason: string) {
  return fileFailure(
    'profile_invalid',
    `expected an ICC profile of RGB or CMYK, received ${reason}`,
  );
}

/** Checks the header and the tags of a profile. @throws Failure profile_invalid */
function checked(file: Uint8Array): Buffer {
  const bytes = Buffer.from(file);
  const text = (at: number) => bytes.toString('latin1', at, at + 4);
  if (bytes.length > MAX_BYTES) throw invalid(`${bytes.length} bytes, more than ${MAX_BYTES}`);
  if (bytes.length < TAGS + 4 || text(36) !== 'acsp') throw invalid('a file of another kind');
  if (bytes.readUInt32BE(0) > bytes.length) throw invalid('one that breaks off');
  if (!['RGB ', 'CMYK'].includes(text(16))) throw invalid(`one of ${JSON.stringify(text(16))}`);
  tagsOf(bytes);
  return bytes;
}

/** Places of the entries of tags by name. @throws Failure profile_invalid */
function tagsOf(bytes: Buffer): Map<string, number> {
  const count = Math.min(MAX_TAGS, bytes.readUInt32BE(TAGS));
  const tags = new Map<string, number>();
  for (let at = TAGS + 4; at < TAGS + 4 + count * 12; at += 12) {
    const isWithin =
      at + 12 <= bytes.length &&
      bytes.readUInt32BE(at + 4) + bytes.readUInt32BE(at + 8) <= bytes.length;
    if (!isWithin) throw invalid('one whose table of tags is damaged');
    tags.set(bytes.toString('latin1', at, at + 4), at);
  }
  return tags;
}

/** The profile that a pixel has once its colour is converted to one; undefined if that fails. */
async function profileIn({ sharp }: ImageInput, path: string): Promise<Buffer | undefined> {
  const pixel = { create: { width: 1, height: 1, channels: 3, background: 'red' } } as const;
  return (await sharp(await sharp(pixel).withIccProfile(path).tiff().toBuffer()).metadata()).icc;
}

async function loadProfile(input: ImageInput, name: string): Promise<Buffer> {
  if (name === 'cmyk') return (await profileIn(input, name))!;
  if (!Object.hasOwn(NAMED_SPACES, name)) {
    return input.withNamed(name, async ({ file }) => checked(file));
  }
  const { description, ...space } = NAMED_SPACES[name as keyof typeof NAMED_SPACES];
  return iccProfile(space, description)!;
}

/** A profile whose perceptual table is that of another intent: sharp 0.35 has no setting of the intent. */
function withIntent(bytes: Buffer, intent: keyof typeof TABLES): Buffer {
  const tags = tagsOf(bytes);
  const [to, from] = [tags.get('B2A0'), tags.get(TABLES[intent])];
  if (to === undefined || from === undefined) return bytes;
  return Buffer.concat([
    ...[bytes.subarray(0, to + 4), bytes.subarray(from + 4, from + 12), bytes.subarray(to + 12)],
  ]);
}

/** A conversion of colours that an encoding ends with. */
export interface Conversion {
  /** Opens the pixels, which have the colours of their own profile yet. */
  readonly open: () => Sharp;
  /** File of the profile to convert to. */
  readonly path: string;
  /** Whether the profile is of cyan, magenta, yellow and black. */
  readonly inks: boolean;
  readonly warnings: readonly Warning[];
}

/**
 * Prepares the conversion of a pipeline, whose pixels have the colours of the input, to the profile of the options.
 * Colours go directly from one profile to the other, so that none are clipped to sRGB between.
 *
 * @throws Failure profile_invalid, profile_unsupported, not_found
 */
export async function convertColours<Result>(
  input: ImageInput,
  header: Header,
  pipeline: Sharp,
  to: OutputFormat,
  { profile: name = 'srgb', intent = 'perceptual' }: Pick<EncodingOptions, 'profile' | 'intent'>,
  encode: (conversion: Conversion) => Promise<Result>,
): Promise<Result> {
  const { sharp } = input;
  const target = withIntent(await loadProfile(input, name), intent);
  const inks = target.toString('latin1', 16, 20) === 'CMYK';
  if (inks && to !== 'jpeg' && to !== 'tiff') {
    const message = `${to.toUpperCase()} holds no CMYK, which ${name} is; jpeg and tiff do`;
    throw fileFailure('profile_unsupported', message);
  }
  // sharp takes profiles from files alone.
  const { path: folder, remove } = makeTemporaryFolder('icc');
  const [path, sourcePath] = [join(folder, 'output.icc'), join(folder, 'input.icc')];
  try {
    writeFileSync(path, target);
    if (!(await profileIn(input, path))?.equals(target))
      throw invalid(`${name}, which cannot be used`);
    const { data } = await metadataPng(pipeline, header, { ...header, grey: false });
    const own = (await sharp(data).metadata()).icc;
    const source = own ?? iccProfile(NAMED_SPACES.srgb)!;
    writeFileSync(sourcePath, source);
    const png = own ? data : pngWithProfile(data, source);
    const open = () => sharp(png, { limitInputPixels: false, ignoreIcc: true });
    const lost = await lostColours(sharp, open(), path, sourcePath);
    const message = `${Math.round(lost * 100)} % of the pixels have colours that ${name} cannot hold; they changed`;
    const warnings = lost < 0.01 ? [] : [{ code: 'gamut_lost', message } as const];
    return await encode({ open, path, inks, warnings });
  } finally {
    remove();
  }
}

/** Side of the sample in which lost colours are counted. */
const SAMPLE = 192;
/** The least loss of a difference between colour channels, of 255, that counts. */
const LEAST = 16;

/** The share of pixels that have other colours, whatever their tone, once they have been in the profile. */
async function lostColours(
  sharp: ImageInput['sharp'],
  image: Sharp,
  path: string,
  source: string,
): Promise<number> {
  const before = await image
    .keepIccProfile()
    .resize(SAMPLE, SAMPLE, { fit: 'inside', kernel: 'nearest', withoutEnlargement: true })
    .removeAlpha()
    .png()
    .toBuffer();
  const converted = sharp(before, { ignoreIcc: true }).withIccProfile(path);
  const there = await converted.tiff({ compression: 'none' }).toBuffer();
  const isInk = (await sharp(there).metadata()).space === 'cmyk';
  // sharp converts inks to sRGB, unless it is to work in them.
  const opened = isInk
    ? sharp(there).pipelineColourspace('cmyk').toColourspace('cmyk')
    : sharp(there, { ignoreIcc: true });
  const { data: back } = await readRaw(opened.withIccProfile(source).raw());
  const { data: own } = await readSamples(sharp(before, { ignoreIcc: true }));
  let lost = 0;
  for (let at = 0; at < own.length; at += 3) {
    const [red, green, blue] = [0, 1, 2].map((channel) => own[at + channel]! - back[at + channel]!);
    if (Math.hypot(red! - green!, (red! + green!) / 2 - blue!) >= LEAST) lost += 1;
  }
  return lost / (own.length / 3);
}
