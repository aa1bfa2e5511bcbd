import type { FormField } from '../../components/form-field.ts';
import { defaultOf, labelOf, type Operation, type OperationField } from './operations.ts';

/** An option of an operation as a field of a form. */
export function formFieldOf(option: OperationField): FormField {
  const { name, type, required, default: byDefault, presets } = option;
  const kind = kindOf(option);
  const isNumber = kind === 'slider';
  return {
    ...{ name, kind, label: labelOf(name), hint: hintOf(option), isRequired: required },
    ...(option.choices && { choices: choicesOf(option) }),
    ...(presets && { presets }),
    ...(kind === 'switch' && { byDefault: byDefault === true }),
    ...(isNumber && { ...limitsOf(option), slider: sliderOf(option) }),
    ...((kind === 'file' || kind === 'files') && { accept: 'image/*' }),
    placeholder: defaultOf(option) || (isNumber && !required ? 'auto' : ''),
    input: {
      ...(kind === 'colour' && { spellcheck: false }),
      ...(isNumber && { inputMode: type === 'integer' ? 'numeric' : 'decimal' }),
    },
  };
}

function kindOf(option: OperationField): NonNullable<FormField['kind']> {
  if (option.type === 'file') return option.repeatable ? 'files' : 'file';
  if (option.type === 'boolean') return 'switch';
  if (option.choices) return 'text';
  if (option.presets) return 'document';
  if (option.type !== 'string') return 'slider';
  if (option.repeatable) return 'list';
  return option.expects.startsWith('a colour') ? 'colour' : 'text';
}

/** Other names of a format, which would stand twice in a list. */
const ALIASES: Readonly<Record<string, string>> = { jpg: 'jpeg', tif: 'tiff' };

function choicesOf({ choices, required, default: byDefault }: OperationField) {
  const all = choices ?? [];
  const listed = all.filter(
    (choice) => choice !== byDefault && !all.includes(ALIASES[choice] ?? ''),
  );
  const none = byDefault === null ? 'Automatic' : `${byDefault} (default)`;
  return [...(required ? [] : [['', none] as const]), ...listed];
}

/** Limits of a number; those that only keep integers exact are none. */
function limitsOf({ type, minimum, maximum }: OperationField) {
  return {
    ...(minimum !== null && minimum > Number.MIN_SAFE_INTEGER && { min: minimum }),
    ...(maximum !== null && maximum < Number.MAX_SAFE_INTEGER && { max: maximum }),
    ...(type === 'integer' && { step: 1 }),
  };
}

/** Largest range of a slider: on a wider one, a step would be less than a pixel. */
const MAX_RANGE = 720;

/** Limits and step of a slider for a number; null if it would be of no use. */
function sliderOf(option: OperationField): NonNullable<FormField['slider']> | null {
  const { min, max, step: whole } = limitsOf(option);
  const rest = Number(option.sample ?? option.default ?? Number.NaN);
  if (min === undefined || max === undefined || max - min > MAX_RANGE || Number.isNaN(rest))
    return null;
  const step = whole ?? (max - min <= 1 ? 0.01 : max - min <= 10 ? 0.1 : 1);
  // A slider for a factor of 0 to 100 around 1 cannot be set precisely.
  return Number.isInteger(rest) || step < 1 ? { min, max, step, rest } : null;
}

/** What an option is for and what it accepts. */
function hintOf(option: OperationField): string {
  const { description, expects } = option;
  const { min, max } = limitsOf(option);
  const limits = max === undefined ? `from ${min}` : `${min} to ${max}`;
  const accepted: Partial<Record<NonNullable<FormField['kind']>, string>> = {
    slider: min === undefined ? '' : limits,
    colour: expects.replace(/^a colour such as/, 'for example'),
    text: option.choices || expects === 'a text' ? '' : expects,
    list: `${expects}, one on each line`,
    files: expects,
  };
  const kind = kindOf(option);
  const text = [description, accepted[kind]].filter(Boolean).join('; ');
  const isFile = kind === 'file' || kind === 'files';
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  return isFile ? `${sentence} It is not part of the address.` : sentence;
}

/** Options of every image operation that most people set. */
const ESSENTIAL = new Set(['format', 'quality']);

/** The fields of an operation: its own, and folded those of encoding that most operations have. */
export function fieldsOf(operation: Operation, all: readonly Operation[]): readonly FormField[] {
  const isCommon = (name: string) =>
    all.filter(({ fields }) => fields.some((field) => field.name === name)).length > all.length / 2;
  return operation.fields.map((option) => {
    const { name, required, sample } = option;
    const isRare = !required && sample === null && !ESSENTIAL.has(name) && isCommon(name);
    return { ...formFieldOf(option), isRare };
  });
}
