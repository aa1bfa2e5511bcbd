import { existsSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import * as v from 'valibot';
import { faultLines, readDocument } from '../../config/yaml/document.ts';
import { Failure } from '../../failure.ts';
import { FORMATS, formatOfExtension, type OutputFormat } from '../../images/formats.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { checkAll } from '../../schema/faults.ts';
import { isObject } from '../../schema/untrusted.ts';
import { type Flags, flagOf, readFlags, usageFailure } from '../command/command.ts';
import { readText } from '../files/text-argument.ts';
import { humanBytes } from '../terminal/terminal.ts';
import { itemsOf, RULES_FILE, ruleFields } from './check-flags.ts';

const ruleFlags = v.strictObject(ruleFields);
const rulesFile = v.strictObject({ ...ruleFields, paths: v.optional(v.array(v.string())) });

export type Rules = v.InferOutput<typeof ruleFlags>;

/** A violation of a rule. */
export interface Finding {
  /** Name of the flag of the rule, or the code of an error. */
  readonly rule: string;
  readonly message: string;
}

/** How a file is repaired: an operation with options as they are on the command line. */
export interface Fix {
  /** Null where only the name is wrong. */
  readonly operation: 'resize' | 'convert' | 'optimize' | 'edit-metadata' | null;
  readonly options: Readonly<Record<string, string | number | readonly string[]>>;
  /** Path of the repaired file. */
  readonly path: string;
  /** Whether the former version is the input. */
  readonly fromReference: boolean;
}

/** The rules of the flags and of the file, and the paths in the file. @throws Failure for an error in either */
export function readRules(flags: Flags, file: string | undefined): [Rules, readonly string[]] {
  const path = file ?? (existsSync(RULES_FILE) ? RULES_FILE : undefined);
  const { paths, ...rules } = path === undefined ? {} : readFile(path);
  const given = readFlags(ruleFlags, { ...rules, ...flags });
  const { minSsim, against, sources, out, recipe } = given;
  if (minSsim !== undefined && against === undefined && flags['base'] === undefined)
    throw usageFailure('--min-ssim: --base or --against is required: what to compare with');
  const needless = Object.entries({ sources, out }).find(([, value]) => value !== undefined);
  if (recipe === undefined && needless)
    throw usageFailure(`${flagOf(needless[0])}: only with --recipe`);
  return [given, (paths as readonly string[] | undefined) ?? ['.']];
}

/** The values of a file of rules, with paths from the working folder. */
function readFile(file: string): Record<string, unknown> {
  const document = readDocument(readText(file, []), {}, 4000);
  const value: unknown = document.value ?? {};
  const fail = (faults: Parameters<typeof faultLines>[1]): never => {
    const message = faultLines(file, faults, document, 20).join('\n');
    throw new Failure('invalid_request', message, { code: 'invalid_recipe', param: 'rules' });
  };
  if (!isObject(value)) return fail([{ path: [], message: 'expected a map' }]);
  const rules: Record<string, unknown> = { ...value };
  for (const name of ['formats', 'forbid']) {
    if (Array.isArray(rules[name])) rules[name] = rules[name].join(',');
  }
  if (typeof rules['maxBytes'] === 'number') rules['maxBytes'] = String(rules['maxBytes']);
  const checked = checkAll(rulesFile, rules);
  const faults = [...document.faults, ...('faults' in checked ? checked.faults : [])];
  if (faults.length > 0) fail(faults);
  const below = (path: string) => relative('.', resolve(dirname(file), path)) || '.';
  const isFile = (name: string) => existsSync(join(dirname(file), String(rules[name])));
  for (const name of ['against', 'sources', 'out', 'recipe']) {
    if (rules[name] !== undefined && (name !== 'recipe' || isFile(name)))
      rules[name] = below(String(rules[name]));
  }
  if (rules['paths']) rules['paths'] = (rules['paths'] as string[]).map(below);
  return rules;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  ...{ heic: 'heic', heif: 'heic', svg: 'svg', bmp: 'bmp', dib: 'bmp', ico: 'ico' },
};

function formatOfName(path: string): string | null {
  const extension = extname(path).slice(1).toLowerCase();
  return formatOfExtension(extension) ?? EXTENSIONS[extension] ?? null;
}

/** Kinds of metadata to look for. */
export function forbidden({ forbid }: Rules): string[] {
  return itemsOf(forbid).filter((kind) => kind !== 'none');
}

/** The rules that a file violates. @param size bytes of the file */
export function findingsOf(path: string, size: number, facts: Inspection, rules: Rules): Finding[] {
  const { format, width = 0, height = 0, metadata, ssim, incomparable } = facts;
  const { maxBytes, maxWidth, maxHeight, maxPixels, formats, minSsim } = rules;
  const found: Finding[] = [];
  const add = (rule: string, message: string) => void found.push({ rule, message });
  const above = (value: number, most: number | undefined): most is number =>
    most !== undefined && value > most;
  const named = formatOfName(path);
  if (named !== null && named !== format) add('extension', `the content is ${format}`);
  if (formats !== undefined && !itemsOf(formats).includes(format))
    add('formats', `${format}, expected ${itemsOf(formats).join(' or ')}`);
  if (above(size, maxBytes))
    add('max-bytes', `${humanBytes(size)} (${size} bytes), more than ${maxBytes} bytes`);
  if (above(width, maxWidth)) add('max-width', `${width} pixels wide, more than ${maxWidth}`);
  if (above(height, maxHeight)) add('max-height', `${height} pixels high, more than ${maxHeight}`);
  const megapixels = (width * height) / 1e6;
  if (above(megapixels, maxPixels))
    add('max-pixels', `${width}x${height}, more than ${maxPixels} megapixels`);
  if (metadata.length > 0) add('forbid', `has metadata that must not ship: ${metadata.join(', ')}`);
  if (incomparable !== undefined)
    add('min-ssim', `cannot be compared with the former version: ${incomparable}`);
  if (ssim !== undefined && ssim < minSsim!)
    add('min-ssim', `SSIM ${ssim} to the former version, less than ${minSsim}`);
  return found;
}

/** Formats whose metadata can be changed without encoding pixels anew. */
const EDITABLE = ['jpeg', 'png', 'webp'];

/** What repairs a file; null where nothing does. */
export function fixOf(
  path: string,
  facts: Inspection,
  rules: Rules,
  findings: readonly Finding[],
): Fix | null {
  const { format, width = 0, height = 0, metadata } = facts;
  const has = (...names: string[]) => findings.some(({ rule }) => names.includes(rule));
  const to = has('formats') ? itemsOf(rules.formats!)[0]! : format;
  const traits = FORMATS[to as OutputFormat];
  if (!traits || (width === 0 && !has('extension'))) return null;
  const named = formatOfName(path) === to;
  const stem = path.slice(0, path.length - extname(path).length);
  const target = named ? path : `${stem}.${traits.extensions[0]}`;
  const { maxBytes, maxWidth = width, maxHeight = height, maxPixels, minSsim } = rules;
  const fromReference = facts.ssim !== undefined && has('min-ssim');
  const pixels = Math.sqrt(((maxPixels ?? Number.POSITIVE_INFINITY) * 1e6) / (width * height));
  const scale = Math.min(1, maxWidth / width, maxHeight / height, pixels);
  const size = {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  };
  const isLarge = scale < 1;
  const encoding = {
    ...(isLarge && size),
    ...((to !== format || fromReference || !named) && { format: to }),
    ...(fromReference
      ? { targetSsim: minSsim! }
      : has('max-bytes') && { targetSize: `${maxBytes}B` }),
  };
  const fix = { path: target, fromReference };
  // Its default loses more than a second encoding may.
  const again = to === 'avif' && { quality: 80 };
  if (isLarge) return { ...fix, operation: 'resize', options: encoding };
  if (to !== format) return { ...fix, operation: 'convert', options: encoding };
  if (fromReference || has('max-bytes'))
    return { ...fix, operation: 'optimize', options: encoding };
  if (metadata.length > 0 && EDITABLE.includes(format))
    return { ...fix, operation: 'edit-metadata', options: { strip: [metadata.join(',')] } };
  if (metadata.length > 0)
    return { ...fix, operation: 'convert', options: { format: to, ...again } };
  return has('extension') ? { ...fix, operation: null, options: {} } : null;
}
