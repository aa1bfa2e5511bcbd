import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import * as v from 'valibot';
import { faultLines, readDocument } from '../../config/yaml/document.ts';
import { Failure } from '../../failure.ts';
import { formatOfExtension } from '../../images/formats.ts';
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

/** The rules of the flags and of the file, and the paths in the file, which count from the working folder. @throws Failure for an error in either */
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

/** The values of a file of rules. */
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
  return rules;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  ...{ heic: 'heic', heif: 'heic', svg: 'svg', bmp: 'bmp', dib: 'bmp', ico: 'ico' },
};

/** The format that an extension stands for; null for others. */
export function formatOfName(path: string): string | null {
  const extension = extname(path).slice(1).toLowerCase();
  return formatOfExtension(extension) ?? EXTENSIONS[extension] ?? null;
}

/** The formats that may ship; none if all may. */
export const wanted = ({ formats }: Rules) => (formats === undefined ? [] : itemsOf(formats));

/** Kinds of metadata to look for. */
export function forbidden({ forbid }: Rules): string[] {
  return itemsOf(forbid).filter((kind) => kind !== 'none');
}

/** The rules that a file violates. @param size bytes of the file */
export function findingsOf(path: string, size: number, facts: Inspection, rules: Rules): Finding[] {
  const { format, width = 0, height = 0, metadata, ssim, incomparable } = facts;
  const { maxBytes, maxWidth, maxHeight, maxPixels, minSsim } = rules;
  const formats = wanted(rules);
  const found: Finding[] = [];
  const add = (rule: string, message: string) => void found.push({ rule, message });
  const above = (value: number, most: number | undefined): most is number =>
    most !== undefined && value > most;
  const named = formatOfName(path);
  if (named !== null && named !== format) add('extension', `the content is ${format}`);
  if (formats.length > 0 && !formats.includes(format))
    add('formats', `${format}, expected ${formats.join(' or ')}`);
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
