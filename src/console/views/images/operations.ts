import type { OperationRecord } from '../../../http/routes/server/operations.ts';
import type { DeepReadonly } from '../../../schema/json.ts';
import { withQuery } from '../../api/request.ts';
import type { Files, Values } from '../../components/form-field.ts';

export type Operation = DeepReadonly<Omit<OperationRecord, 'object'>>;

/** A field of an operation, with what a control for it needs. */
export type OperationField = Operation['fields'][number];

type Value = NonNullable<OperationField['default']>;

/** The options of an operation, as the reader edits them. */
export interface Draft {
  readonly values: Values;
  readonly files: Files;
}

/** Words of names that are not written in small letters. */
const SPELLINGS: Readonly<Record<string, string>> = {
  api: 'API',
  blurhash: 'BlurHash',
  exif: 'EXIF',
  gps: 'GPS',
  // The operation runs one, and stands beside the button to run.
  run: 'Recipe',
  sha256: 'SHA-256',
  ssim: 'SSIM',
  thumbhash: 'ThumbHash',
  url: 'URL',
};

/** The name of an operation or a field as people write it: `Chroma subsampling` for `chromaSubsampling`. */
export function labelOf(name: string): string {
  const words = name.split(/[-_]|(?=[A-Z])/).map((word) => word.toLowerCase());
  const text = words.map((word) => SPELLINGS[word] ?? word).join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const valueText = (value: Value): string =>
  Array.isArray(value) ? value.join('\n') : String(value);

/** The value of a field that is not sent, as text; empty if there is none. */
export function defaultOf({ default: byDefault }: OperationField): string {
  return byDefault === null ? '' : valueText(byDefault);
}

/** The values to begin with, by which the operation does something. */
function initialValues({ fields }: Operation): Values {
  const isAnyRequired = fields.some(({ required }) => required);
  return Object.fromEntries(
    fields.map(({ name, required, sample }) => [
      name,
      sample !== null && (required || !isAnyRequired) ? valueText(sample) : '',
    ]),
  );
}

/** Characters up to which a value stands in the address: servers refuse long ones. */
const MAX_SHARED = 1500;

/** The values that an address states. */
export function valuesOf(operation: Operation, query: URLSearchParams): Values {
  const initial = initialValues(operation);
  return Object.fromEntries(
    operation.fields.map(({ name }) => [name, query.get(name) ?? initial[name]!]),
  );
}

/** The place of an operation with its values; those that are too long for an address are left out. */
export function placeOf(operation: Operation, values: Values): string {
  const initial = initialValues(operation);
  const query = new URLSearchParams();
  for (const { name, type } of operation.fields) {
    const value = values[name] ?? '';
    if (type === 'file' || value.length > MAX_SHARED) continue;
    if (value !== '' || initial[name] !== '') query.set(name, value);
  }
  return withQuery(`images/${operation.name}`, query);
}

/** Whether the address has all values. */
export function isShared(values: Values): boolean {
  return Object.values(values).every((value) => value.length <= MAX_SHARED);
}

/** The fields to send, in the order of the operation. */
export function sentFields(operation: Operation, values: Values): [name: string, value: string][] {
  return operation.fields.flatMap(({ name, type, repeatable }): [string, string][] => {
    const value = values[name] ?? '';
    if (type === 'file' || value.trim() === '') return [];
    return [[name, repeatable ? itemsOf(value).join('\n') : value]];
  });
}

/** The items of a list. */
export function itemsOf(value: string): string[] {
  return value.split(/\r?\n/).filter((line) => line.trim() !== '');
}
